"""A program for the kernels, being written: values, the memory that they live in, and instructions.

Values that are known while compiling are numpy arrays; all others are `Held`. Memory is planned when everything is
emitted: a block of the arena is taken from the first instruction that touches it to the last.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...dtypes import Array

__all__ = ["LANES", "NO_LIMITS", "Block", "Builder", "Compiled", "Held", "Value"]

LANES = 4  # channels of a group
ALIGNMENT = 64  # bytes, of every block in the arena
_ARENA, _ABSENT = 0, -1


@dataclass(slots=True, eq=False)
class Block:
    """Memory of a run: in the arena, or a feed or a result.

    Args:
        role: "arena", "feed" or "result".
        number: of the feed or result.
        offset: bytes from the arena's start, once planned.
    """

    size_bytes: int
    role: str = "arena"
    number: int = 0
    offset: int = 0


@dataclass(slots=True, eq=False)
class Held:
    """A value that exists only while the program runs, or a constant in the form that a kernel wants.

    Args:
        place: the block, or the constant, in whose memory it lies, contiguous and from its start.
        blocked: its channels lie in groups of 4, as convolutions want them (blocks.c); else in C order.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    place: Block | Array
    blocked: bool = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def stored(self) -> int:
        """Elements in memory: of a blocked value also those after the last channel."""
        if not self.blocked:
            return self.size
        n, channels, *pixels = self.shape
        return n * -(-channels // LANES) * LANES * math.prod(pixels)


Value = Array | Held


@dataclass(slots=True, eq=False)
class Instruction:
    operator: str
    operands: list[Held | None]
    params: list[int]
    node: str  # which it came from, for whoever reads the plan


@dataclass(slots=True)
class Compiled:
    """What `Builder.finish` made.

    Args:
        program: the native program, see the kernels' module.
        results: dtype and shape of each result.
        listing: an instruction a line, with the memory that it touches.
    """

    program: Any
    results: list[tuple[np.dtype[Any], tuple[int, ...]]]
    arena_bytes: int
    constant_bytes: int
    listing: list[str]


def float_param(value: float) -> int:
    """A float as it travels among int32 params."""
    return int(struct.unpack("<i", struct.pack("<f", value))[0])


NO_LIMITS = [float_param(-math.inf), float_param(math.inf)]
"""The last two params of what can limit its result, while nothing was folded into it."""


@dataclass(slots=True)
class Builder:
    """Collects instructions.

    Args:
        module: the kernels' native module: ``OPERATORS`` and ``Program``.
    """

    module: Any
    instructions: list[Instruction] = field(default_factory=list)
    node: str = ""
    feeds: int = 0
    readers: Counter[int] = field(default_factory=Counter)  # of each block, by its id: those that come after this node
    _prepared: dict[Any, Held] = field(default_factory=dict)
    _kept: list[Any] = field(default_factory=list)  # arrays whose id is a key

    def feed(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Held:
        """The next feed's value."""
        self.feeds += 1
        block = Block(math.prod(shape) * dtype.itemsize, "feed", self.feeds - 1)
        return Held(dtype, shape, block)

    def new(self, shape: Sequence[int], dtype: Any = np.float32, *, blocked: bool = False) -> Held:
        """A value in memory of its own."""
        value = Held(np.dtype(dtype), tuple(shape), Block(0), blocked)
        value.place = Block(value.stored * value.dtype.itemsize)
        return value

    def like(self, value: Held) -> Held:
        """A value of the same type, shape and layout; in the same memory if nobody wants that any more."""
        if self.last_reader(value):
            return replace(value)  # another value, of which no converted copy exists
        return self.new(value.shape, value.dtype, blocked=value.blocked)

    def view(self, value: Value, shape: Sequence[int]) -> Value:
        """The same elements in another shape of the same size."""
        if isinstance(value, np.ndarray):
            return value.reshape(shape)
        if tuple(shape) == value.shape:
            return value
        plain = self.held(value)
        return Held(plain.dtype, tuple(shape), plain.place)

    def held(self, value: Value) -> Held:
        """A value as an operand in C order: arrays become constants of the program."""
        if isinstance(value, Held):
            return self._converted(value, blocked=False) if value.blocked else value
        return self.prepared(value, "as it is", np.ascontiguousarray)

    def blocked(self, value: Value) -> Held:
        """A value [n, c, ...] as an operand with its channels in groups of 4."""
        held = value if isinstance(value, Held) else self.held(value)
        return held if held.blocked else self._converted(held, blocked=True)

    def _converted(self, value: Held, *, blocked: bool) -> Held:
        key = (id(value), blocked)
        if key not in self._prepared:
            other = self.new(value.shape, value.dtype, blocked=blocked)
            n, channels, *pixels = value.shape
            self.emit("block_f32" if blocked else "unblock_f32", [value, other], [n, channels, math.prod(pixels)])
            self.readers[id(other.place)] = self.readers[id(value.place)]
            self._prepared[key] = other
            self._kept.append(value)
        return self._prepared[key]

    def prepared(self, array: Array, form: Any, make: Callable[[Array], Array]) -> Held:
        """A constant in another form, made once however many nodes want it.

        Args:
            form: names the form.
        """
        key = (id(array), form)
        if key not in self._prepared:
            made = make(array)
            self._prepared[key] = Held(made.dtype, made.shape, made)
            self._kept.append(array)
        return self._prepared[key]

    def emit(self, operator: str, operands: Sequence[Held | None], params: Sequence[int] = ()) -> Instruction:
        """Add an instruction."""
        instruction = Instruction(operator, list(operands), [int(p) for p in params], self.node)
        self.instructions.append(instruction)
        return instruction

    def last_reader(self, value: Value) -> bool:
        """Whether nothing after this node wants a value: then its memory may be written over."""
        return isinstance(value, Held) and isinstance(value.place, Block) and self._ours(value.place)

    def _ours(self, block: Block) -> bool:
        return block.role == "arena" and self.readers[id(block)] == 0

    def writer(self, value: Value) -> Instruction | None:
        """The instruction that wrote a value, if this node can be folded into it: nothing else wants its result."""
        last = self.instructions[-1] if self.instructions else None
        written = last.operands[-1] if last else None
        ours = isinstance(value, Held) and self.last_reader(value) and written and written.place is value.place
        return last if ours else None

    def finish(self, outputs: Sequence[Value]) -> Compiled:
        """Plan the memory and make the native program.

        Args:
            outputs: one a result; an array is handed out by the caller and must not stand here.
        """
        results = [self._as_result(value, number) for number, value in enumerate(outputs)]
        arena_bytes = self._plan()
        constants: list[Array] = []
        numbers: dict[int, int] = {}
        for instruction in self.instructions:
            for operand in instruction.operands:
                if operand and isinstance(operand.place, np.ndarray) and id(operand.place) not in numbers:
                    numbers[id(operand.place)] = len(constants)
                    constants.append(operand.place)
        code: list[int] = []
        for instruction in self.instructions:
            code += [self.module.OPERATORS[instruction.operator][0], len(instruction.params)]
            for operand in instruction.operands:
                code += self._reference(operand, numbers, len(constants))
            code += instruction.params
        words = np.array(code, np.int64).astype(np.uint32).view(np.int32)
        program = self.module.Program(words, [_bytes(c) for c in constants], arena_bytes, self.feeds, len(results))
        kinds = [(value.dtype, value.shape) for value in results]
        return Compiled(program, kinds, arena_bytes, sum(c.nbytes for c in constants), self._listing())

    # ---- inside ------------------------------------------------------------------------------------------------

    def _as_result(self, value: Value, number: int) -> Held:
        """Have a value written where the caller wants it: its block becomes the result, or it is copied there."""
        value = self.held(value)
        block = value.place
        if isinstance(block, Block) and block.role == "arena" and block.size_bytes == value.size_bytes:
            block.role, block.number = "result", number
            return value
        result = Held(value.dtype, value.shape, Block(value.size_bytes, "result", number))
        self.emit("move", [value, result], [1, 1, 0, 0, value.size_bytes, 1, 1])
        return result

    def _plan(self) -> int:
        """Give every block of the arena an offset. Returns: the arena's bytes.

        Large blocks go first, each to the lowest place where no block that lives at the same time is.
        """
        lives: dict[int, tuple[Block, int, int]] = {}
        for time, instruction in enumerate(self.instructions):
            for operand in instruction.operands:
                if operand and isinstance(operand.place, Block) and operand.place.role == "arena":
                    _, first, _ = lives.get(id(operand.place), (operand.place, time, time))
                    lives[id(operand.place)] = (operand.place, first, time)
        placed: list[tuple[Block, int, int]] = []
        total = 0
        for block, first, last in sorted(lives.values(), key=lambda life: -life[0].size_bytes):
            size = -(-block.size_bytes // ALIGNMENT) * ALIGNMENT
            taken = sorted((b.offset, b.size_bytes) for b, f, e in placed if f <= last and first <= e)
            at = 0
            for offset, length in taken:
                if offset - at >= size:
                    break
                at = max(at, -(-(offset + length) // ALIGNMENT) * ALIGNMENT)
            block.offset = at
            placed.append((block, first, last))
            total = max(total, at + size)
        return total

    def _reference(self, operand: Held | None, numbers: dict[int, int], constants: int) -> list[int]:
        if operand is None:
            return [_ABSENT, 0, 0]
        place = operand.place
        if isinstance(place, np.ndarray):
            return [1 + numbers[id(place)], 0, place.nbytes]
        if place.role == "arena":
            return [_ARENA, place.offset, place.size_bytes]
        first = 1 + constants + (self.feeds if place.role == "result" else 0)
        return [first + place.number, 0, place.size_bytes]

    def _listing(self) -> list[str]:
        lines = []
        for instruction in self.instructions:
            operands = ", ".join("-" if o is None else _where(o) for o in instruction.operands)
            lines.append(f"{instruction.operator}({operands}) {instruction.params}  # {instruction.node}")
        return lines


def _where(operand: Held) -> str:
    place = operand.place
    if isinstance(place, np.ndarray):
        return f"constant {place.dtype}{list(place.shape)}"
    name = f"{place.role}[{place.offset}]" if place.role == "arena" else f"{place.role} {place.number}"
    return f"{name}:{operand.dtype}{list(operand.shape)}"


def _bytes(array: Array) -> Any:
    """The memory of a constant, which stays the array's."""
    return array.reshape(-1).view(np.uint8) if array.size else b""
