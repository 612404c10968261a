"""Sliding windows: the geometry that convolution and pooling share, and the patches themselves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..records import dataclass

__all__ = ["Geometry", "both_pads", "patches"]


@dataclass(frozen=True, slots=True)
class Geometry:
    """Where windows lie over the spatial axes, one number an axis in every field.

    Args:
        size: of the input.
        kernel: elements of a window.
        strides: between windows.
        dilations: between the elements of a window.
        begin: padding before the input.
        end: padding after it.
        out: number of windows.
    """

    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    out: tuple[int, ...]

    @classmethod
    def of(
        cls,
        size: Sequence[int],
        kernel: Sequence[int],
        *,
        strides: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        auto_pad: str = "NOTSET",
        ceil_mode: int = 0,
    ) -> Geometry:
        """From ONNX's attributes.

        With ceil_mode a window may start in the input or in the padding before it, and reach beyond the padding at
        the end; it never starts behind the input (opset 22's rule: such a window would see padding only).

        Raises: InvalidInput: attributes that fit neither each other nor the input.
        """
        rank = len(size)
        strides = _per_axis("strides", strides, rank, 1)
        dilations = _per_axis("dilations", dilations, rank, 1)
        kernel = _per_axis("kernel_shape", kernel, rank, 1)
        extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        if auto_pad in ("", "NOTSET"):
            begin, end = both_pads(pads, rank)
        elif auto_pad == "VALID":
            begin = end = (0,) * rank
        elif auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            need = [max((-(-n // s) - 1) * s + e - n, 0) for n, s, e in zip(size, strides, extent, strict=True)]
            less, more = tuple(n // 2 for n in need), tuple(n - n // 2 for n in need)
            begin, end = (less, more) if auto_pad == "SAME_UPPER" else (more, less)
        else:
            raise InvalidInput(f'auto_pad is "{auto_pad}", expected NOTSET, SAME_UPPER, SAME_LOWER or VALID')
        out = []
        ceil = ceil_mode and auto_pad in ("", "NOTSET")  # the spec's other formulas round the same way in both modes
        for n, e, s, b, a in zip(size, extent, strides, begin, end, strict=True):
            free = n + b + a - e
            if free < 0 and n > 0 and not ceil:
                raise InvalidInput(f"a window of {e} does not fit into {n} elements with pads {b} and {a}")
            count = (-(-free // s) if ceil else free // s) + 1
            if ceil and (count - 1) * s >= n + b:
                count -= 1
            out.append(max(count, 0))
        return cls(tuple(size), tuple(kernel), strides, dilations, tuple(begin), tuple(end), tuple(out))

    @property
    def reach(self) -> tuple[int, ...]:
        """Padded size that the last window needs: with ceil_mode more than begin + size + end."""
        return tuple(
            max((o - 1) * s + (k - 1) * d + 1, b + n)
            for o, s, k, d, b, n in zip(
                self.out, self.strides, self.kernel, self.dilations, self.begin, self.size, strict=True
            )
        )

    def padded(self, x: Array, value: float) -> Array:
        """x [N, C, *size] with `value` around it, as far as the windows reach."""
        reach = self.reach
        if not any(self.begin) and reach == self.size:
            return x
        y = np.full(x.shape[:2] + reach, value, dtype=x.dtype)
        inside: tuple[Any, ...] = (..., *(slice(b, b + n) for b, n in zip(self.begin, self.size, strict=True)))
        y[inside] = x
        return y

    def offsets(self) -> Iterator[tuple[int, ...]]:
        """Every place in a window, last axis fastest."""
        return itertools.product(*map(range, self.kernel))

    def at(self, offset: Sequence[int]) -> tuple[slice, ...]:
        """Slices of a padded tensor: the elements at one place of all windows."""
        return (slice(None), slice(None), *(self.along(axis, place) for axis, place in enumerate(offset)))

    def along(self, axis: int, place: int) -> slice:
        """The slice of one spatial axis that holds the elements at `place` of all windows."""
        start = place * self.dilations[axis]
        if not self.out[axis]:
            return slice(0, 0)
        return slice(start, start + (self.out[axis] - 1) * self.strides[axis] + 1, self.strides[axis])

    def sources(self, axis: int) -> Array:
        """Input coordinate of every element of every window along an axis: int64 [kernel, out]; may be outside."""
        places = np.arange(self.kernel[axis])[:, None] * self.dilations[axis]
        return places + np.arange(self.out[axis]) * self.strides[axis] - self.begin[axis]


def patches(x: Array, g: Geometry) -> Array:
    """Every window as a view of a padded tensor: [N, C, *kernel, *out]; nothing is copied."""
    spatial = x.strides[2:]
    return np.lib.stride_tricks.as_strided(
        x,
        x.shape[:2] + g.kernel + g.out,
        x.strides[:2]
        + tuple(b * d for b, d in zip(spatial, g.dilations, strict=True))
        + tuple(b * s for b, s in zip(spatial, g.strides, strict=True)),
        writeable=False,
    )


def both_pads(pads: Sequence[int] | None, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """ONNX's pads as those before and those after each axis; zeros when left out.

    Raises: InvalidInput: their number is not twice the rank, or one is negative.
    """
    padding = tuple(pads) if pads else (0,) * (2 * rank)
    if len(padding) != 2 * rank or min(padding, default=0) < 0:
        raise InvalidInput(f"pads is {padding}, expected {2 * rank} numbers from 0 up for {rank} spatial axes")
    return padding[:rank], padding[rank:]


def _per_axis(name: str, values: Sequence[int] | None, rank: int, default: int) -> tuple[int, ...]:
    if not values:
        return (default,) * rank
    if len(values) != rank or min(values) < 1:
        raise InvalidInput(f"{name} is {tuple(values)}, expected {rank} positive numbers, one a spatial axis")
    return tuple(values)
