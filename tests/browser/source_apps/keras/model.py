"""A small convolutional network in Keras 3, on PyTorch; untrained, since what counts is that both sides agree."""

import io
import os

import numpy as np

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras


def network():
    """The network, with the weights of a fixed seed."""
    keras.utils.set_random_seed(0)
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((16, 16, 3), name="pictures"),
            layers.Conv2D(8, 3, strides=2, padding="same", activation="relu"),
            layers.BatchNormalization(),
            layers.DepthwiseConv2D(3, padding="same", activation="silu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(5, activation="softmax"),
        ]
    )


def pictures():
    """Noise, float32 [4, 16, 16, 3]."""
    return np.random.default_rng(0).random((4, 16, 16, 3), np.float32)


def model():
    """The network, and pictures to try it on."""
    stream = io.BytesIO()
    np.save(stream, pictures())
    return {"keras.onnx": network(), "pictures.npy": stream.getvalue()}
