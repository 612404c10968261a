"""What a transformers model is exported with: texts of different lengths, pictures; and what padding does to it."""

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from onnxlet.dtypes import Array

from ..convert import snr_db
from ..samples import Feeds
from .exported import LEAST_DB, native_session

__all__ = ["any_size", "padding_matters", "pictures", "sides", "sounds", "texts"]

_TEXTS = ("The quick brown fox jumps over the lazy dog, and nobody minds.", "Nobody minds.")
_SECONDS = ("Somebody minds what the fox does.", "The dog is asleep.")
_EXAMPLE_SIDES = (256, 320)  # of models that take any size: their own may be 1333


def texts(config: Any, tokenizer: Any, *, pair: bool = False, mask: bool = False) -> Feeds:
    """Two texts of different lengths, padded: int64 [2, length] each.

    Args:
        config: the model's.
        tokenizer: None: ids at random.
        pair: each text has a second one.
        mask: a word of each is the tokenizer's mask.
    Returns: input_ids, attention_mask, and what else the tokenizer gives.
    """
    if tokenizer is None:
        ids = np.random.default_rng(0).integers(0, config.vocab_size, (2, 12))
        ids[1, 7:] = getattr(config, "pad_token_id", None) or 0
        return {"input_ids": ids, "attention_mask": np.array([[1] * 12, [1] * 7 + [0] * 5])}
    firsts, seconds = list(_TEXTS), list(_SECONDS)
    if tokenizer.pad_token is None:
        firsts, seconds = firsts[:1] * 2, seconds[:1] * 2
    if mask and tokenizer.mask_token:
        firsts = [text.replace("minds", tokenizer.mask_token) for text in firsts]
    encoded = tokenizer(firsts, seconds if pair else None, padding=tokenizer.pad_token is not None)
    return {key: np.asarray(value, np.int64) for key, value in encoded.items()}


def any_size(processor: Mapping[str, Any]) -> bool:
    """Whether pictures keep their proportions, so that the input's size follows each picture's."""
    size = processor.get("size")
    return isinstance(size, Mapping) and "shortest_edge" in size


def sides(config: Any, processor: Mapping[str, Any]) -> tuple[int, int]:
    """(height, width) of the input: what the preprocessor crops or scales to, else the configuration's.

    Args:
        config: the model's.
        processor: preprocessor_config.json; empty where there is none.
    """
    size: Any = processor.get("crop_size") if processor.get("do_center_crop") else processor.get("size")
    size = size or getattr(config, "image_size", None) or 224
    if isinstance(size, Mapping):
        edge = size.get("shortest_edge", 224)
        return int(size.get("height", edge)), int(size.get("width", edge))
    height, width = size if isinstance(size, list | tuple) else (size, size)
    return int(height), int(width)


def pictures(model: Any, size: tuple[int, int] = _EXAMPLE_SIDES, *, masked: bool = True) -> Feeds:
    """Two pictures of noise, float32 [2, C, H, W]; and int64 pixel_mask [2, H, W] where the model takes one.

    Args:
        size: (height, width).
        masked: look for the mask; the second picture is then padded.
    """
    height, width = size
    channels = getattr(model.config, "num_channels", 3)
    values = np.random.default_rng(0).standard_normal((2, channels, height, width)).astype(np.float32)
    feeds: Feeds = {"pixel_values": values}
    if masked and "pixel_mask" in inspect.signature(model.forward).parameters:
        feeds["pixel_mask"] = np.ones((2, height, width), np.int64)
        feeds["pixel_mask"][1, :, width * 3 // 4 :] = 0
    return feeds


def sounds(model: Any) -> tuple[Feeds, dict[str, dict[int, str]]]:
    """Two sounds of noise, and the axes that may vary: a spectrogram has one size, samples are as many as there are.

    Returns: float32 [2, samples], [2, frames, bands] (AST) or [2, bands, frames] (Whisper).
    """
    config, name = model.config, model.main_input_name
    axes = {name: {0: "batch"}}
    if name == "input_features" and hasattr(config, "max_source_positions"):
        shape: tuple[int, ...] = (2, config.num_mel_bins, 2 * config.max_source_positions)
    elif hasattr(config, "num_mel_bins") and hasattr(config, "time_stride"):
        shape = (2, config.max_length, config.num_mel_bins)
    else:
        shape, axes[name][1] = (2, 16_000), "samples"
    return {name: np.random.default_rng(0).standard_normal(shape).astype(np.float32)}, axes


def padding_matters(data: bytes, batch: Feeds, name: str) -> str:
    """Whether a text answers otherwise in a padded batch than alone, on native ONNX Runtime.

    Args:
        data: the .onnx file.
        batch: texts of different lengths, with their attention_mask.
        name: of the model, for messages.
    Returns: "" where all agree, else how far they are apart.
    """
    session = native_session(data, name)
    names = [arg.name for arg in session.get_inputs()]
    together = session.run(None, {key: batch[key] for key in names})
    worst = np.inf
    for row, mask in enumerate(batch["attention_mask"]):
        real = np.flatnonzero(mask)
        alone = session.run(None, {key: batch[key][row : row + 1, real] for key in names})
        for every, one in zip(together, alone, strict=True):
            answer: Array = every[row : row + 1]
            if answer.ndim > 1 and answer.shape[1] == mask.size and one.shape[1] == real.size:  # one a token
                answer = answer[:, real]
            worst = min(worst, snr_db(one, answer))
    return "" if worst >= LEAST_DB else f"{worst:.0f} dB"
