"""WAV files to samples and back.

Sources: Microsoft and IBM, Multimedia Programming Interface and Data Specifications 1.0 (RIFF, WAVE); Microsoft,
WAVEFORMATEXTENSIBLE; EBU Tech 3306 (RF64); ITU-T G.711 (A-law, mu-law).
"""

import struct
from collections.abc import Callable

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput

__all__ = ["is_wav", "read_wav", "write_wav"]

_PCM, _FLOAT, _ALAW, _MULAW, _EXTENSIBLE = 1, 3, 6, 7, 0xFFFE
_TAG_NAMES = {2: "Microsoft ADPCM", 0x11: "IMA ADPCM", 0x31: "GSM 6.10", 0x50: "MPEG", 0x55: "MP3", 0xFF: "AAC"}
_UNKNOWN_SIZE = 0xFFFFFFFF  # a writer that streams cannot know; RF64 has the size elsewhere
_GUID_TAIL = bytes.fromhex("000000001000800000aa00389b71")  # after the 2 bytes of the tag, in a subformat GUID


def is_wav(data: bytes) -> bool:
    """Whether the bytes start as a WAV file does."""
    return data[:4] in (b"RIFF", b"RIFX", b"RF64", b"BW64") and data[8:12] == b"WAVE"


def read_wav(data: bytes, name: str = "") -> tuple[Array, int]:
    """Decode a WAV file.

    Integers of 8 (unsigned), 16, 24 and 32 bits, floats of 32 and 64, A-law and mu-law. Chunks other than "fmt " and
    "data" are skipped, wherever they stand. A data size of 0 or 0xFFFFFFFF at the end of the file, or one beyond it
    (a streamed or cut file), means all that is there; an incomplete last frame is dropped.

    Returns: float32 [channels, n] (integers scaled to -1 .. 1, floats as they are), and the sample rate in Hz.
    Raises: InvalidInput: no WAV file, a broken header, or a coding that is not taken.
    """
    where = f'sound "{name}"' if name else "sound"
    if not is_wav(data):
        raise InvalidInput(f"{where}: expected a WAV file, got {len(data):,} bytes that start with {data[:12]!r}")
    order = ">" if data[:4] == b"RIFX" else "<"
    chunks = _chunks(data, order)
    if b"fmt " not in chunks:
        raise InvalidInput(f'{where}: expected a "fmt " chunk, found {_names(chunks)}; the file is cut or damaged')
    if b"data" not in chunks:
        raise InvalidInput(f'{where}: expected a "data" chunk, found {_names(chunks)}; the file is cut or damaged')
    tag, channels, rate, bits, frame = _format(where, bytes(chunks[b"fmt "]), order)
    decode = _decoder(where, tag, bits, order)
    body = chunks[b"data"]
    frames = len(body) // frame
    samples = decode(body[: frames * frame]).reshape(frames, channels)
    return np.ascontiguousarray(samples.T, np.float32), rate


def write_wav(samples: Array, sample_rate_hz: int, bits: int = 16) -> bytes:
    """Encode a WAV file.

    Args:
        samples: float [channels, n].
        bits: 16 (integers, clipped to -1 .. 1) or 32 (floats, exact).
    """
    if bits not in (16, 32):
        raise InvalidInput(f"to_wav: expected 16 or 32 bits, got {bits}")
    channels, n = samples.shape
    if bits == 16:
        body = np.rint(np.clip(np.nan_to_num(samples.T), -1, 32767 / 32768) * 32768).astype("<i2").tobytes()
    else:
        body = samples.T.astype("<f4").tobytes()
    frame = channels * bits // 8
    tag = _PCM if bits == 16 else _FLOAT
    fmt = struct.pack("<HHIIHH", tag, channels, sample_rate_hz, sample_rate_hz * frame, frame, bits)
    fact = b"" if tag == _PCM else struct.pack("<4sII", b"fact", 4, n)
    chunks = struct.pack("<4sI", b"fmt ", len(fmt)) + fmt + fact + struct.pack("<4sI", b"data", len(body)) + body
    return struct.pack("<4sI4s", b"RIFF", 4 + len(chunks), b"WAVE") + chunks


def _chunks(data: bytes, order: str) -> dict[bytes, memoryview]:
    """The first chunk of each name. Sizes are padded to even offsets."""
    view = memoryview(data)
    chunks: dict[bytes, memoryview] = {}
    at = 12
    while at + 8 <= len(data):
        name, size = struct.unpack_from(order + "4sI", data, at)
        at += 8
        if name == b"data" and size == _UNKNOWN_SIZE and len(chunks.get(b"ds64", b"")) >= 16:
            size = struct.unpack_from("<Q", chunks[b"ds64"], 8)[0]
        chunks.setdefault(name, view[at : at + size])
        at += size + size % 2
    return chunks


def _names(chunks: dict[bytes, memoryview]) -> str:
    return ", ".join(repr(name.decode("latin-1")) for name in chunks) or "none"


def _format(where: str, fmt: bytes, order: str) -> tuple[int, int, int, int, int]:
    """Tag, channels, rate, bits of a sample's container, bytes of a frame."""
    if len(fmt) < 16:
        raise InvalidInput(
            f'{where}: expected a "fmt " chunk of at least 16 bytes, got {len(fmt)}; the file is damaged'
        )
    tag, channels, rate, _, frame, bits = struct.unpack_from(order + "HHIIHH", fmt)
    if tag == _EXTENSIBLE and len(fmt) >= 40:
        if fmt[26:40] != _GUID_TAIL:
            raise InvalidInput(f"{where}: unknown subformat {fmt[24:40].hex()}; save it as PCM")
        (tag,) = struct.unpack_from(order + "H", fmt, 24)
    if not channels or not rate:
        raise InvalidInput(
            f"{where}: {channels} channels at {rate} Hz, expected at least 1 of each; the file is damaged"
        )
    container = (bits + 7) // 8 * 8  # 12 or 20 bits stand left-justified in whole bytes
    if tag in (_PCM, _FLOAT, _ALAW, _MULAW) and frame != channels * container // 8:
        raise InvalidInput(
            f"{where}: frames of {frame} bytes, expected {channels * container // 8} "
            f"({channels} channels of {bits} bits); the file is damaged"
        )
    return tag, channels, rate, container, frame


def _decoder(where: str, tag: int, bits: int, order: str) -> Callable[[memoryview], Array]:
    def integers(body: memoryview) -> Array:
        return np.frombuffer(body, f"{order}i{bits // 8}").astype(np.float32) / np.float32(2 ** (bits - 1))

    def unsigned(body: memoryview) -> Array:
        return (np.frombuffer(body, np.uint8).astype(np.float32) - 128) / 128

    def three_bytes(body: memoryview) -> Array:
        parts = np.frombuffer(body, np.uint8).reshape(-1, 3)
        low, middle, high = (parts if order == "<" else parts[:, ::-1]).T
        return (low | middle.astype(np.int32) << 8 | high.view(np.int8).astype(np.int32) << 16) / np.float32(2**23)

    def floats(body: memoryview) -> Array:
        with np.errstate(over="ignore"):  # a float64 beyond float32 becomes infinite, and Audio reports it
            return np.frombuffer(body, f"{order}f{bits // 8}").astype(np.float32)

    def companded(table: Array) -> Callable[[memoryview], Array]:
        return lambda body: table[np.frombuffer(body, np.uint8)]

    known: dict[tuple[int, int], Callable[[memoryview], Array]] = {
        (_PCM, 8): unsigned,
        (_PCM, 16): integers,
        (_PCM, 24): three_bytes,
        (_PCM, 32): integers,
        (_FLOAT, 32): floats,
        (_FLOAT, 64): floats,
        (_ALAW, 8): companded(_alaw()),
        (_MULAW, 8): companded(_mulaw()),
    }
    if (tag, bits) not in known:
        coding = {_PCM: "integers", _FLOAT: "floats"}.get(tag) or _TAG_NAMES.get(tag, f"coding 0x{tag:x}")
        raise InvalidInput(
            f"{where}: {coding} of {bits} bits, expected integers of 8, 16, 24 or 32, floats of 32 or 64, A-law or "
            "mu-law; save it as 16-bit PCM"
        )
    return known[tag, bits]


def _alaw() -> Array:
    """G.711 table 1a: sign, 3 bits of segment, 4 of interval; even bits inverted on the line; 13-bit levels."""
    code = np.arange(256) ^ 0x55
    segment, interval = code >> 4 & 7, code & 15
    level = np.where(segment == 0, 2 * interval + 1, (2 * interval + 33) << np.maximum(segment - 1, 0))
    return (np.where(code & 0x80, level, -level) / 4096).astype(np.float32)


def _mulaw() -> Array:
    """G.711 table 2a: as A-law, all bits inverted and biased by 33; 14-bit levels."""
    code = np.arange(256) ^ 0xFF
    segment, interval = code >> 4 & 7, code & 15
    level = ((2 * interval + 33) << segment) - 33
    return (np.where(code & 0x80, -level, level) / 8192).astype(np.float32)
