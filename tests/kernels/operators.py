"""Runs one operator of the kernels on arrays: a program of one step."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxlet_kernels as kernels

__all__ = ["bits", "call", "one_step"]

BUFFERS = {"r": "feed", "R": "feed", "w": "result", "x": "result", "X": "result"}


def bits(value: float) -> int:
    """A float as a param."""
    return int(struct.unpack("<i", struct.pack("<f", value))[0])


def one_step(name: str, operands: Sequence[np.ndarray | None], params: Sequence[int]) -> tuple[Any, tuple, tuple]:
    """A program of one step. Returns: it, with the feeds and results for its `run`."""
    number, kinds = kernels.OPERATORS[name]
    where = [None if operand is None else BUFFERS[kind] for operand, kind in zip(operands, kinds, strict=True)]
    feeds = tuple(o for o, w in zip(operands, where, strict=True) if w == "feed")
    results = tuple(o for o, w in zip(operands, where, strict=True) if w == "result")
    code, counts = [number, len(params)], {"feed": 1, "result": 1 + len(feeds)}
    for operand, kind in zip(operands, where, strict=True):
        if operand is None or kind is None:
            code += [-1, 0, 0]
        else:
            code += [counts[kind], 0, operand.nbytes]
            counts[kind] += 1
    words = np.array([*code, *map(int, params)], np.int32)
    return kernels.Program(words, [], 0, len(feeds), len(results)), feeds, results


def call(name: str, operands: Sequence[np.ndarray | None], params: Sequence[int]) -> None:
    """Run an operator; operands that it writes are written."""
    program, feeds, results = one_step(name, operands, params)
    program.run(feeds, results)
