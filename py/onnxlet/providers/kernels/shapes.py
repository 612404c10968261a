"""What moves elements, or only calls them by another shape."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...dtypes import Array, DataType
from .lowering import Unfit, known_numbers, rule
from .program import LANES, Builder, Held, Value


@rule("Identity")
def identity(builder: Builder, x: Value) -> Value:
    """The same."""
    return x


@rule("Shape")
def shape(builder: Builder, x: Value, *, start: int = 0, end: int | None = None) -> Array:
    """Known as soon as the feeds' shapes are."""
    return np.array(x.shape[slice(start, end)], np.int64)


@rule("Reshape")
def reshape(builder: Builder, x: Value, sizes: Value, *, allowzero: int = 0) -> Value:
    """The same elements in another shape."""
    wanted = [int(s) for s in known_numbers(sizes)]
    if not allowzero:
        wanted = [x.shape[i] if size == 0 else size for i, size in enumerate(wanted)]
    if -1 in wanted:
        rest = math.prod(size for size in wanted if size != -1)
        wanted[wanted.index(-1)] = math.prod(x.shape) // rest if rest else 0
    if math.prod(wanted) != math.prod(x.shape):
        raise Unfit(f"cannot give {x.shape} the shape {wanted}")
    return builder.view(x, wanted)


@rule("Flatten")
def flatten(builder: Builder, x: Value, *, axis: int = 1) -> Value:
    """A matrix of the dimensions before an axis, and from it on."""
    axis = axis + len(x.shape) if axis < 0 else axis
    return builder.view(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


@rule("Squeeze")
def squeeze(builder: Builder, x: Value, axes: Value | Sequence[int] | None = None) -> Value:
    """Without dimensions of size 1."""
    rank = len(x.shape)
    gone = (
        {int(a) % rank for a in known_numbers(axes)}
        if axes is not None
        else {i for i, s in enumerate(x.shape) if s == 1}
    )
    return builder.view(x, [size for i, size in enumerate(x.shape) if i not in gone])


@rule("Unsqueeze")
def unsqueeze(builder: Builder, x: Value, axes: Value | Sequence[int]) -> Value:
    """With more of them."""
    return builder.view(
        x, np.expand_dims(np.empty(x.shape, np.bool_), tuple(int(a) for a in known_numbers(axes))).shape
    )


@rule("Transpose")
def transpose(builder: Builder, x: Value, *, perm: Sequence[int] | None = None) -> Value:
    """Another order of the dimensions; a view where only sizes of 1 move."""
    held = builder.held(x)
    order = list(perm) if perm is not None else list(range(len(held.shape)))[::-1]
    sizes = [held.shape[axis] for axis in order]
    if [axis for axis in order if held.shape[axis] != 1] == [a for a in range(len(order)) if held.shape[a] != 1]:
        return builder.view(held, sizes)
    steps = _contiguous(held.shape)
    y = builder.new(sizes, held.dtype)
    _move(builder, held, y, sizes, [steps[axis] for axis in order], _contiguous(sizes))
    return y


@rule("Slice")
def slice_(
    builder: Builder,
    x: Value,
    starts: Value,
    ends: Value,
    axes: Value | Sequence[int] | None = None,
    steps: Value | None = None,
) -> Held:
    """A part of every axis that is named; steps go forwards."""
    rank = len(x.shape)
    begins = [int(v) for v in known_numbers(starts)]
    along = [int(a) % rank for a in known_numbers(axes)] if axes is not None else list(range(len(begins)))
    strides = [int(v) for v in known_numbers(steps)] if steps is not None else [1] * len(begins)
    parts = [range(size) for size in x.shape]
    for axis, begin, end, stride in zip(along, begins, known_numbers(ends), strides, strict=True):
        if stride < 1:
            raise Unfit("a slice backwards")
        parts[axis] = range(x.shape[axis])[begin : int(end) : stride]
    return _part(builder, builder.held(x), parts)


def _part(builder: Builder, x: Held, parts: Sequence[range]) -> Held:
    """A copy of some of a value."""
    sizes = [len(part) for part in parts]
    y = builder.new(sizes, x.dtype)
    if 0 in sizes:
        return y
    whole = _contiguous(x.shape)
    steps = [step * part.step for step, part in zip(whole, parts, strict=True)]
    start = sum(step * part.start for step, part in zip(whole, parts, strict=True))
    _move(builder, x, y, sizes, steps, _contiguous(sizes), x_start=start)
    return y


@rule("Split")
def split(
    builder: Builder, x: Value, sizes: Value | None = None, *, axis: int = 0, num_outputs: int = 0, n_outputs: int = 0
) -> tuple[Held, ...]:
    """Parts along an axis."""
    axis %= len(x.shape)
    total = x.shape[axis]
    if sizes is not None:
        lengths = [int(v) for v in known_numbers(sizes)]
    else:
        count = num_outputs or n_outputs
        each = -(-total // count)
        lengths = [min(each, total - each * i) for i in range(count)]
    held = builder.held(x)
    outputs, start = [], 0
    for length in lengths:
        parts = [range(size) for size in held.shape]
        parts[axis] = range(start, start + length)
        outputs.append(_part(builder, held, parts))
        start += length
    return tuple(outputs)


@rule("Concat")
def concat(builder: Builder, *xs: Value, axis: int) -> Held:
    """Values side by side."""
    first = xs[0]
    axis %= len(first.shape)
    if len({x.dtype for x in xs}) > 1:
        raise Unfit("values of different types")
    sizes = [sum(x.shape[axis] for x in xs) if i == axis else size for i, size in enumerate(first.shape)]
    blocked = (
        axis == 1 and all(x.shape[1] % LANES == 0 for x in xs) and any(isinstance(x, Held) and x.blocked for x in xs)
    )
    y = builder.new(sizes, first.dtype, blocked=blocked)
    steps, start = _contiguous(_stored(y)), 0
    for x in xs:
        held = builder.blocked(x) if blocked else builder.held(x)
        own = _stored(held)
        if held.size:
            _move(builder, held, y, own, _contiguous(own), steps, y_start=start * steps[axis])
        start += own[axis]
    return y


def _stored(value: Held) -> tuple[int, ...]:
    """The shape in which a value lies in memory."""
    if not value.blocked:
        return value.shape
    n, channels, *pixels = value.shape
    return n, -(-channels // LANES), math.prod(pixels) * LANES


@rule("Expand")
def expand(builder: Builder, x: Value, sizes: Value) -> Value:
    """Repeated along axes of size 1."""
    wanted = np.broadcast_shapes(x.shape, [int(v) for v in known_numbers(sizes)])
    if wanted == x.shape:
        return x
    held = builder.held(x)
    y = builder.new(wanted, held.dtype)
    aligned = [1] * (len(wanted) - len(held.shape)) + list(held.shape)
    steps = [0 if size == 1 else step for size, step in zip(aligned, _contiguous(aligned), strict=True)]
    _move(builder, held, y, wanted, steps, _contiguous(wanted))
    return y


@rule("Pad", since=11)
def pad(
    builder: Builder,
    x: Value,
    pads: Value,
    value: Value | None = None,
    axes: Value | Sequence[int] | None = None,
    *,
    mode: str = "constant",
) -> Held:
    """A frame of one value around it."""
    rank = len(x.shape)
    along = [int(a) % rank for a in known_numbers(axes)] if axes is not None else list(range(rank))
    numbers = [int(v) for v in known_numbers(pads)]
    if mode != "constant" or min(numbers, default=0) < 0 or (value is not None and isinstance(value, Held)):
        raise Unfit("only frames of one value that is known")
    before, after = [0] * rank, [0] * rank
    for axis, b, e in zip(along, numbers[: len(along)], numbers[len(along) :], strict=True):
        before[axis], after[axis] = b, e
    held = builder.held(x)
    sizes = [b + size + e for b, size, e in zip(before, held.shape, after, strict=True)]
    y = builder.new(sizes, held.dtype)
    fill = np.zeros(1, held.dtype) if value is None else np.asarray(value, held.dtype).reshape(1)
    builder.emit("fill", [builder.held(fill), y], [y.size, y.dtype.itemsize])
    steps = _contiguous(sizes)
    if held.size:
        start = sum(b * step for b, step in zip(before, steps, strict=True))
        _move(builder, held, y, held.shape, _contiguous(held.shape), steps, y_start=start)
    return y


@rule("Gather")
def gather(builder: Builder, x: Value, indices: Value, *, axis: int = 0) -> Held:
    """Entries along an axis, by numbers that are known or computed."""
    axis %= len(x.shape)
    held, numbers = builder.held(x), builder.held(indices)
    if numbers.dtype not in (np.int32, np.int64):
        raise Unfit(f"indices of {numbers.dtype}")
    before, after = held.shape[:axis], held.shape[axis + 1 :]
    y = builder.new((*before, *numbers.shape, *after), held.dtype)
    inner = math.prod(after) * held.dtype.itemsize
    params = [inner, math.prod(before), held.shape[axis], numbers.size, numbers.dtype == np.int64]
    builder.emit("gather", [held, numbers, y], params)
    return y


CAST = [np.float32, np.int32, np.int64, np.uint8, np.int8, np.bool_]  # in gather.c's order


@rule("Cast")
def cast(builder: Builder, x: Value, *, to: int, saturate: int = 1, round_mode: str = "up") -> Value:
    """Another type; what only 8-bit floats need means nothing here."""
    if DataType(to).is_narrow:
        raise Unfit("a type that numpy lacks")
    target = DataType(to).numpy
    held = builder.held(x)
    if target == held.dtype:
        return x
    kinds = [np.dtype(kind) for kind in CAST]
    if target not in kinds or held.dtype not in kinds:
        raise Unfit(f"{held.dtype} to {target}")
    y = builder.new(held.shape, target)
    builder.emit("cast", [held, y], [held.size, kinds.index(held.dtype), kinds.index(target)])
    return y


def _contiguous(sizes: Sequence[int]) -> list[int]:
    steps = [1] * len(sizes)
    for i in range(len(sizes) - 2, -1, -1):
        steps[i] = steps[i + 1] * sizes[i + 1]
    return steps


def _move(
    builder: Builder,
    x: Held,
    y: Held,
    sizes: Sequence[int],
    x_steps: Sequence[int],
    y_steps: Sequence[int],
    *,
    x_start: int = 0,
    y_start: int = 0,
) -> None:
    """Copy elements, see moving.c. Starts and steps count elements."""
    dims = [list(dim) for dim in zip(sizes, x_steps, y_steps, strict=True) if dim[0] != 1]
    for i in range(len(dims) - 1, 0, -1):  # one loop for two where neighbours follow each other on both sides
        (outer, *far), (inner, *near) = dims[i - 1 : i + 1]
        if all(f == n * inner for f, n in zip(far, near, strict=True)):
            dims[i - 1 : i + 1] = [[outer * inner, *near]]
    dims = dims or [[1, 1, 1]]
    if len(dims) > 8 or x.dtype.itemsize not in (1, 2, 4, 8):
        raise Unfit(f"{len(dims)} dimensions of {x.dtype}")
    builder.emit("move", [x, y], [x.dtype.itemsize, len(dims), x_start, y_start, *(p for dim in dims for p in dim)])
