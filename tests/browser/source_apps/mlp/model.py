"""The classic first model: an MLP 784-128-64-10 in PyTorch, trained for seconds on scikit-learn's digits."""

import io

import numpy as np
import torch
from sklearn.datasets import load_digits

HELD_OUT = 400


def digits():
    """Pictures as float32 [1797, 784] in 0..1, each digit of 8 x 8 pixels enlarged to 24 x 24 with a margin; labels."""
    known = load_digits()
    large = np.kron(known.images, np.ones((3, 3))) / 16
    return np.pad(large, ((0, 0), (2, 2), (2, 2))).reshape(-1, 784).astype(np.float32), known.target


def network():
    """The trained network."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    x, y = (torch.from_numpy(array[:-HELD_OUT]) for array in digits())
    net = torch.nn.Sequential(
        torch.nn.Linear(784, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 10),
    )
    adam = torch.optim.Adam(net.parameters(), 2e-3)
    for _ in range(120):
        adam.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        adam.step()
    return net.eval()


def model():
    """The network with an example of its input, and four pictures that it has not seen."""
    from onnxlet_build.sources.torch import Torch

    pictures, _ = digits()
    four = io.BytesIO()
    np.save(four, pictures[-4:])
    example = torch.from_numpy(pictures[:1])
    return {
        "mlp.onnx": Torch(network(), (example,), input_names=["x"], output_names=["logits"]),
        "four.npy": four.getvalue(),
    }


def calibration():
    """A part of what it was trained on."""
    return ({"x": row[None]} for row in digits()[0][:100])


def evaluation():
    """Pictures that it has not seen, with what they show."""
    pictures, labels = digits()
    return (({"x": row[None]}, label) for row, label in zip(pictures[-100:], labels[-100:], strict=True))


def metric(outputs, target):
    """1 where the best class is right."""
    return float(outputs[0].argmax(1)[0] == target)
