"""The protobuf wire format: messages as fields with a number, and how deep and how long they may be.

Nothing here knows ONNX. `Message` reads a message out of a shared buffer: a field is a number or a span of bytes, so
a message costs 16 bytes a field however long its content is. `Writer` collects the parts of a message without
joining them, so that weights are copied once, by whoever writes the file.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from .dtypes import Array
from .errors import InvalidModel

__all__ = ["MAX_DEPTH", "Bytes", "Message", "Writer", "unpack_varints"]

MAX_DEPTH = 100  # messages within messages; protobuf's own readers stop here too
VARINT, FIXED64, SPAN, FIXED32 = 0, 1, 2, 5
_RUN = 32  # so many numbers in one field: more may follow, and numpy reads them 20 times as fast
_LONGEST = 11  # bytes of a number with its tag

Bytes = bytes | memoryview
T = TypeVar("T")


class Message:
    """One message of a buffer.

    Every accessor takes a field's number and says what it must hold. After all known fields were asked for,
    `rest` gives the others, as bytes to be written back.

    Args:
        data: the whole buffer; contiguous bytes.
        start, end: where the message lies in it.
        label: what errors call the message.
        parent: the message around it, for errors.
        context: anything that the readers of the messages within want to see; given at the root.

    Raises: InvalidModel: the bytes are no message.
    """

    __slots__ = ("_fields", "_known", "context", "data", "depth", "label", "parent")

    def __init__(
        self, data: memoryview, start: int, end: int, label: str, parent: Message | None = None, context: Any = None
    ) -> None:
        self.data = data
        self.label = label
        self.parent = parent
        self.context: Any = parent.context if parent else context
        self.depth: int = parent.depth + 1 if parent else 1
        self._known: set[int] = set()
        if self.depth > MAX_DEPTH:
            raise self.error(f"is nested {self.depth} messages deep, more than the {MAX_DEPTH} that protobuf allows")
        self._fields = self._scan(start, end)

    def _scan(self, start: int, end: int) -> dict[int, array[int]]:
        """Fields by tag (number * 8 + wire type): values for numbers, pairs of start and end for spans."""
        data = self.data
        fields: dict[int, array[int]] = {}
        at = start
        while at < end:
            tag = data[at]
            at += 1
            if tag >= 0x80:
                tag, at = self._varint(at - 1, end)
            if tag < 8:
                raise self.error(f"has a field number 0 before byte {at}, which protobuf forbids")
            wire = tag & 7
            if wire in (VARINT, SPAN):
                if at < end and data[at] < 0x80:
                    value = data[at]
                    at += 1
                else:
                    value, at = self._varint(at, end)
                if wire == SPAN:
                    if value > end - at:
                        raise self.error(
                            f"ends at byte {end}, {value - (end - at)} bytes too early: field {tag >> 3}, "
                            f"from byte {at} on, is said to have {value}"
                        )
                    fields.setdefault(tag, array("Q")).extend((at, at + value))
                    at += value
                    continue
            elif wire in (FIXED32, FIXED64):
                size = 4 if wire == FIXED32 else 8
                if size > end - at:
                    raise self.error(f"ends at byte {end}, inside field {tag >> 3}")
                value = int.from_bytes(data[at : at + size], "little")
                at += size
            else:
                raise self.error(f"has a field {tag >> 3} of wire type {wire} at byte {at}, which ONNX does not use")
            values = fields.setdefault(tag, array("Q"))
            values.append(value)
            if len(values) % _RUN == 0 and tag < 0x80:
                at = self._follow(tag, at, end, values)
        return fields

    def _follow(self, tag: int, at: int, end: int, values: array[int]) -> int:
        """Read on with numpy while the same field of numbers comes again and again, each with its tag.

        Returns: where the next field begins.
        """
        find = _varint_run if tag & 7 == VARINT else _fixed_run
        window = 1024
        while True:
            numbers, taken = find(np.frombuffer(self.data[at : min(at + window, end)], np.uint8), tag)
            values.frombytes(numbers.tobytes())
            at += taken
            if window - taken > _LONGEST or at == end:  # something else follows
                return at
            window = min(2 * window, 2**20)

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        value = 0
        for k in range(10):
            if at + k >= end:
                raise self.error(f"ends at byte {end}, inside a number")
            byte = self.data[at + k]
            value |= (byte & 0x7F) << (7 * k)
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF, at + k + 1
        raise self.error(f"has a number of more than 64 bits at byte {at}")

    def error(self, complaint: str) -> InvalidModel:
        """The error to raise about this message; says where it lies."""
        labels = []
        message: Message | None = self
        while message:
            labels.append(message.label)
            message = message.parent
        path = ".".join(reversed(labels[:-1]))
        return InvalidModel(f"{path or labels[-1]}: {complaint}")

    def _take(self, number: int, wire: int) -> array[int] | None:
        self._known.add(number)
        return self._fields.pop(number << 3 | wire, None)

    # One value: the last given counts, as protobuf says.

    def has(self, number: int) -> bool:
        """Whether a field is there and was not taken yet."""
        return any(number << 3 | wire in self._fields for wire in (VARINT, SPAN, FIXED32, FIXED64))

    def unsigned(self, number: int, default: int = 0) -> int:
        values = self._take(number, VARINT)
        return values[-1] if values else default

    def integer(self, number: int, default: int = 0) -> int:
        """A signed number: int32, int64 or an enumeration."""
        value = self.unsigned(number, default)
        return value - 2**64 if value >= 2**63 else value

    def real(self, number: int, default: float = 0.0) -> float:
        values = self._take(number, FIXED32)
        return struct.unpack("<f", struct.pack("<I", values[-1]))[0] if values else default

    def blob(self, number: int) -> memoryview:
        spans = self._take(number, SPAN)
        return self.data[spans[-2] : spans[-1]] if spans else self.data[0:0]

    def string(self, number: int) -> str:
        """A name: strict UTF-8."""
        return self._text(self.blob(number), number)

    def prose(self, number: int) -> str:
        """Text for people, where a byte that is no UTF-8 does not matter (it becomes U+FFFD)."""
        return str(self.blob(number), "utf-8", "replace")

    def message(self, number: int, label: str, read: Callable[[Message], T]) -> T | None:
        """A message, or None where there is none. Given in several pieces, they count as one, as protobuf says."""
        spans = self._take(number, SPAN)
        if not spans:
            return None
        if len(spans) == 2:
            return read(Message(self.data, spans[0], spans[1], label, self))
        joined = b"".join(self.data[a:b] for a, b in _pairs(spans))
        return read(Message(memoryview(joined), 0, len(joined), label, self))

    # Many values.

    def blobs(self, number: int) -> tuple[memoryview, ...]:
        return tuple(self.data[a:b] for a, b in _pairs(self._take(number, SPAN) or ()))

    def strings(self, number: int) -> tuple[str, ...]:
        return tuple(self._text(self.data[a:b], number) for a, b in _pairs(self._take(number, SPAN) or ()))

    def messages(self, number: int, label: str, read: Callable[[Message], T]) -> tuple[T, ...]:
        spans = self._take(number, SPAN) or ()
        return tuple(read(Message(self.data, a, b, f"{label}[{i}]", self)) for i, (a, b) in enumerate(_pairs(spans)))

    def varints(self, number: int) -> Array:
        """Repeated numbers, packed or not: uint64 [n]; view as int64 for signed ones."""
        packed = self._take(number, SPAN)
        single = self._take(number, VARINT)
        chunks = [self._unpack(a, b) for a, b in _pairs(packed or ())]
        if single:
            chunks.append(np.array(single, np.uint64))
        return _joined(chunks, np.uint64)

    def _unpack(self, start: int, end: int) -> Array:
        try:
            return unpack_varints(self.data[start:end])
        except ValueError as error:
            raise self.error(f"packed numbers at byte {start}: {error}") from None

    def fixed(self, number: int, dtype: np.dtype[Any]) -> Bytes:
        """Repeated floats or doubles, packed or not, as little-endian bytes: a slice of the file where possible."""
        packed = self._take(number, SPAN)
        single = self._take(number, FIXED32 if dtype.itemsize == 4 else FIXED64)
        for a, b in _pairs(packed or ()):
            if (b - a) % dtype.itemsize:
                raise self.error(f"field {number} has {b - a} bytes, no multiple of {dtype.itemsize}")
        if packed and len(packed) == 2 and not single:
            return self.data[packed[0] : packed[1]]
        chunks: list[Bytes] = [self.data[a:b] for a, b in _pairs(packed or ())]
        if single:
            chunks.append(np.array(single, f"<u{dtype.itemsize}").tobytes())
        return b"".join(chunks)

    def rest(self) -> bytes:
        """The fields nobody asked for, encoded.

        Raises: InvalidModel: a field that was asked for has a wire type that it cannot have.
        """
        out = bytearray()
        for tag, values in self._fields.items():
            if tag >> 3 in self._known:
                raise self.error(f"field {tag >> 3} has wire type {tag & 7}, which does not fit its type")
            head = _varint(tag)
            if tag & 7 == SPAN:
                for a, b in _pairs(values):
                    out += head + _varint(b - a) + self.data[a:b]
            else:
                for value in values:
                    out += head + _number(value, tag & 7)
        return bytes(out)

    def _text(self, data: memoryview, number: int) -> str:
        try:
            return str(data, "utf-8")
        except UnicodeDecodeError as error:
            raise self.error(f"the text in field {number} is not UTF-8: {error.reason}") from None


class Writer:
    """The parts of one message, in order; `size` is their length in bytes.

    Methods leave out what equals protobuf's default, but for those whose name says otherwise.
    """

    __slots__ = ("parts", "size")

    def __init__(self) -> None:
        self.parts: list[Bytes] = []
        self.size = 0

    def raw(self, *parts: Bytes) -> None:
        """Append encoded bytes."""
        for part in parts:
            if len(part):
                self.parts.append(part)
                self.size += len(part)

    def integer(self, number: int, value: int, keep_zero: bool = False) -> None:
        if value or keep_zero:
            self.raw(_varint(number << 3 | VARINT) + _varint(value % 2**64))

    def real(self, number: int, value: float) -> None:
        """A float32, zero too."""
        self.raw(_varint(number << 3 | FIXED32) + np.float32(value).astype("<f4").tobytes())

    def blob(self, number: int, value: Bytes, keep_empty: bool = False) -> None:
        if len(value) or keep_empty:
            self.raw(_varint(number << 3 | SPAN) + _varint(len(value)), value)

    def string(self, number: int, value: str, keep_empty: bool = False) -> None:
        self.blob(number, value.encode(), keep_empty)

    def strings(self, number: int, values: Iterable[str]) -> None:
        for value in values:
            self.string(number, value, keep_empty=True)

    def message(self, number: int, message: Writer) -> None:
        """A message, empty ones too."""
        self.raw(_varint(number << 3 | SPAN) + _varint(message.size))
        self.parts += message.parts
        self.size += message.size

    def integers(self, number: int, values: Iterable[int]) -> None:
        """Signed numbers, one field each (not packed), as proto2 writes them."""
        tag = _varint(number << 3 | VARINT)
        self.raw(b"".join(tag + _varint(v % 2**64) for v in values))

    def reals(self, number: int, values: Iterable[float]) -> None:
        """float32 values, one field each (not packed), as proto2 writes them."""
        tag = _varint(number << 3 | FIXED32)
        encoded = np.fromiter(values, np.float64).astype("<f4").view(np.uint8).reshape(-1, 4)
        tags = np.broadcast_to(np.frombuffer(tag, np.uint8), (len(encoded), len(tag)))
        self.raw(np.hstack([tags, encoded]).tobytes())


def unpack_varints(data: Bytes) -> Array:
    """Decode numbers that stand one after another: uint64 [n].

    Raises: ValueError: the last one is cut, or one has more than 64 bits.
    """
    raw = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(raw < 0x80)
    if not raw.size:
        return np.zeros(0, np.uint64)
    if not ends.size or ends[-1] != raw.size - 1:
        raise ValueError("the last one is cut")
    starts = np.concatenate([[0], ends[:-1] + 1])
    if (ends - starts).max() >= 10:
        raise ValueError("one has more than 64 bits")
    return _decode(raw, starts, ends)


def _decode(raw: Array, starts: Array, ends: Array) -> Array:
    """Numbers by the positions of their first and last bytes, at most 10 bytes each: uint64 [n]."""
    values = (raw[starts] & 0x7F).astype(np.uint64)
    lengths = ends - starts + 1
    for k in range(1, int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > k)
        values[longer] |= (raw[starts[longer] + k] & 0x7F).astype(np.uint64) << np.uint64(7 * k)
    return values


def _varint_run(raw: Array, tag: int) -> tuple[Array, int]:
    """The varints at the beginning that have the tag before each of them: uint64 [n], and how many bytes they take."""
    ends = np.flatnonzero(raw < 0x80)
    ends = ends[: ends.size // 2 * 2]
    starts = np.concatenate([[0], ends + 1])[:-1]
    good = (starts[::2] == ends[::2]) & (raw[starts[::2]] == tag) & (ends[1::2] - starts[1::2] < 10)
    count = good.size if good.all() else int(good.argmin())
    if not count:
        return np.zeros(0, np.uint64), 0
    return _decode(raw, starts[1::2][:count], ends[1::2][:count]), int(ends[2 * count - 1]) + 1


def _fixed_run(raw: Array, tag: int) -> tuple[Array, int]:
    """The same for numbers of 4 or 8 bytes."""
    size = 4 if tag & 7 == FIXED32 else 8
    rows = raw[: raw.size // (size + 1) * (size + 1)].reshape(-1, size + 1)
    good = rows[:, 0] == tag
    count = good.size if good.all() else int(good.argmin())
    numbers = np.ascontiguousarray(rows[:count, 1:]).view(f"<u{size}").reshape(-1)
    return numbers.astype(np.uint64), count * (size + 1)


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(value: int, wire: int) -> bytes:
    return _varint(value) if wire == VARINT else value.to_bytes(4 if wire == FIXED32 else 8, "little")


def _pairs(spans: Iterable[int]) -> Iterator[tuple[int, int]]:
    it = iter(spans)
    return zip(it, it, strict=True)


def _joined(chunks: list[Array], dtype: Any) -> Array:
    if len(chunks) == 1:
        return chunks[0]
    return np.concatenate(chunks) if chunks else np.zeros(0, dtype)
