"""Sound files of every coding become the same samples, or a sentence."""

import io
import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnxlet.errors import InvalidInput
from onnxlet.media.resample import Resampler, resample
from onnxlet.media.wav import read_wav, write_wav
from onnxlet.values import Audio

DATA = Path(__file__).parents[1] / "data"
EXPECTED = json.loads((DATA / "A_audio.json").read_text())
PCM, FLOAT, ALAW, MULAW = 1, 3, 6, 7


def wav(
    body: bytes,
    *,
    tag: int = PCM,
    channels: int = 1,
    rate: int = 16000,
    bits: int = 16,
    before: bytes = b"",
    after: bytes = b"",
    size: int | None = None,
    order: str = "<",
    extra: bytes = b"",
) -> bytes:
    """A WAV file written by hand, with whatever is odd about it."""
    frame = channels * ((bits + 7) // 8)
    fmt = struct.pack(order + "HHIIHH", tag, channels, rate, rate * frame, frame, bits) + extra
    head = {"<": b"RIFF", ">": b"RIFX"}[order] + struct.pack(order + "I", 0xFFFFFFFF) + b"WAVE"
    data_size = len(body) if size is None else size
    data = b"data" + struct.pack(order + "I", data_size) + body + b"\0" * (len(body) % 2)
    return head + chunk(b"fmt ", fmt, order) + before + data + after


def chunk(name: bytes, body: bytes, order: str = "<") -> bytes:
    return name + struct.pack(order + "I", len(body)) + body + b"\0" * (len(body) % 2)


def tone(hz: float, rate: int, seconds: float = 0.5, peak: float = 0.5) -> np.ndarray:
    return (peak * np.sin(2 * np.pi * hz * np.arange(round(rate * seconds)) / rate)).astype(np.float32)


def rms(samples: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(samples, dtype=np.float64))))


# -------------------------------------------------------------------------------------------------- the cases


@pytest.mark.parametrize("name", [n for n in EXPECTED if n[:3] in ("A01", "A03", "A06") and "samples" in EXPECTED[n]])
def test_files_from_bug_reports_give_their_samples(name: str) -> None:
    expected = EXPECTED[name]
    audio = Audio.open(DATA / name)
    assert audio.samples.dtype == np.float32
    assert audio.samples.shape == (expected["samples"],)
    if "rate" in expected:
        assert audio.sample_rate_hz == expected["rate"]
    if "rms" in expected:
        assert rms(audio.samples) == pytest.approx(expected["rms"], abs=0.01)
    if "peak" in expected:
        assert np.abs(audio.samples).max() == pytest.approx(expected["peak"], abs=0.01)
    if "mean" in expected:
        assert audio.samples.mean() == pytest.approx(expected["mean"], abs=0.01)


def test_silence_of_an_odd_size_is_exactly_silent() -> None:
    assert not Audio.open(DATA / "A01_silence_u8.wav").samples.any()


def test_floats_over_full_scale_are_kept() -> None:
    audio = Audio.open(DATA / "A03_f32_hot.wav")
    assert np.abs(audio.samples).max() == pytest.approx(2.0, abs=0.01)
    assert rms(audio.samples) == pytest.approx(1.41421, abs=0.01)


def test_a_sample_that_is_not_finite_is_silenced_with_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"1 of 4000 samples are not finite; they are set to 0"):
        audio = Audio.open(DATA / "A03_f32_nan.wav")
    assert audio.repaired == 1
    assert np.isfinite(audio.samples).all()
    assert rms(audio.samples) > 0.1


def test_an_empty_recording_is_a_sentence() -> None:
    with pytest.raises(InvalidInput, match=r'sound "A06_empty.wav": expected at least 1 sample, got 0'):
        Audio.open(DATA / "A06_empty.wav")


def test_alaw_is_decoded() -> None:
    """The file holds all codes in order, eight times; 0x55 is the smallest negative level, 0xAA the largest."""
    samples = Audio.open(DATA / "A06_alaw.wav").samples.reshape(8, 256)
    assert (samples == samples[0]).all()
    assert samples[0, [0x55, 0xD5, 0xAA, 0x2A]].tolist() == [-1 / 4096, 1 / 4096, 0.984375, -0.984375]


@pytest.mark.parametrize("rate", [8000, 11025, 44100, 48000])
def test_a_tone_keeps_its_pitch_and_loudness_at_another_rate(rate: int) -> None:
    expected = EXPECTED[f"A05_{rate}.wav"]["after_resampling_to_16k"]
    audio = Audio.open(DATA / f"A05_{rate}.wav").mono().resample(16000)
    assert audio.sample_rate_hz == 16000
    assert abs(audio.samples.size - expected["samples"]) <= expected["samples_tol"]
    spectrum = np.abs(np.fft.rfft(audio.samples))
    peak_hz = spectrum.argmax() * 16000 / audio.samples.size
    assert abs(peak_hz - expected["fft_peak_hz"]) <= expected["tol_hz"]
    assert np.abs(audio.samples).max() == pytest.approx(expected["peak"], abs=expected["peak_tol"])


def test_sound_above_half_the_new_rate_disappears() -> None:
    audio = Audio.open(DATA / "A05_alias_48000.wav").resample(16000)
    assert rms(audio.samples) < EXPECTED["A05_alias_48000.wav"]["after_resampling_to_16k"]["rms_max"]


# --------------------------------------------------------------------------------------------- the whole kind


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("bits", "levels", "expected"),
    [
        (16, [-(2**15), -1, 0, 2**15 - 1], [-1, -(2**-15), 0, 1 - 2**-15]),
        (32, [-(2**31), 2**30, 0], [-1, 0.5, 0]),
        (24, [-(2**23), -1, 0, 1, 2**23 - 1], [-1, -(2**-23), 0, 2**-23, 1 - 2**-23]),
        (8, [0, 64, 128, 255], [-1, -0.5, 0, 127 / 128]),
    ],
)
def test_integers_of_every_width_are_scaled(order: str, bits: int, levels: list[int], expected: list[float]) -> None:
    byteorder = "little" if order == "<" else "big"
    body = b"".join(level.to_bytes(bits // 8, byteorder, signed=bits > 8) for level in levels)
    samples, rate = read_wav(wav(body, bits=bits, order=order))
    np.testing.assert_array_equal(samples, [np.float32(expected)])
    assert rate == 16000


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("bits", [32, 64])
def test_floats_are_kept(order: str, bits: int) -> None:
    body = np.array([0.1, -3.5, 1e-30], f"{order}f{bits // 8}").tobytes()
    np.testing.assert_array_equal(
        read_wav(wav(body, tag=FLOAT, bits=bits, order=order))[0], [np.float32([0.1, -3.5, 1e-30])]
    )


def test_twelve_bits_stand_in_two_bytes() -> None:
    assert read_wav(wav(struct.pack("<h", 1 << 14), bits=12))[0].tolist() == [[0.5]]


def test_codes_of_g711_give_its_levels() -> None:
    """Values of ITU-T G.711, tables 1a and 2a, at both ends and around zero."""
    alaw = read_wav(wav(bytes([0xD5, 0x55, 0xAA, 0x2A, 0x80, 0x00]), tag=ALAW, bits=8))[0][0] * 4096
    assert alaw.tolist() == [1, -1, 4032, -4032, 688, -688]
    mulaw = read_wav(wav(bytes([0xFF, 0x7F, 0x80, 0x00, 0xF0, 0x70]), tag=MULAW, bits=8))[0][0] * 8192
    assert mulaw.tolist() == [0, 0, 8031, -8031, 30, -30]


def test_all_256_codes_of_g711_are_monotonic_and_symmetric() -> None:
    for tag, flip in ((ALAW, 0x55), (MULAW, 0xFF)):
        levels = read_wav(wav(bytes(code ^ flip for code in range(256)), tag=tag, bits=8))[0][0]
        assert (np.diff(np.abs(levels[:128])) > 0).all()
        np.testing.assert_array_equal(levels[:128], -levels[128:])


@pytest.mark.parametrize(("tag", "bits"), [(PCM, 16), (PCM, 24), (FLOAT, 32), (MULAW, 8)])
def test_the_extensible_header_says_the_coding_in_its_subformat(tag: int, bits: int) -> None:
    guid = struct.pack("<H", tag) + bytes.fromhex("000000001000800000aa00389b71")
    extra = struct.pack("<HHI", 22, bits, 3) + guid
    body = bytes(range(24 * 2))
    plain = read_wav(wav(body, tag=tag, bits=bits, channels=2))[0]
    np.testing.assert_array_equal(read_wav(wav(body, tag=0xFFFE, bits=bits, channels=2, extra=extra))[0], plain)


def test_channels_are_told_apart() -> None:
    audio = Audio.open(wav(struct.pack("<6h", 1, 100, 2, 200, 3, 300), channels=2))
    assert audio.channels == 2
    assert (audio.samples * 32768).tolist() == [[1, 2, 3], [100, 200, 300]]
    assert (audio.mono().samples * 32768).tolist() == [50.5, 101, 151.5]


def test_chunks_around_the_samples_are_no_samples() -> None:
    body = struct.pack("<3h", 1, 2, 3)
    noise = chunk(b"LIST", b"INFOxyz") + chunk(b"fact", b"\x03\0\0\0") + chunk(b"junk", b"")
    data = wav(body, before=noise, after=chunk(b"id3 ", b"ID3" * 9) + b"trailing")
    np.testing.assert_array_equal(read_wav(data)[0], read_wav(wav(body))[0])


@pytest.mark.parametrize("size", [0xFFFFFFFF, 10_000])
def test_a_streamed_or_cut_file_gives_what_is_there(size: int) -> None:
    assert read_wav(wav(struct.pack("<3h", 1, 2, 3) + b"\x07", size=size))[0].shape == (1, 4)


def test_an_incomplete_last_frame_is_dropped() -> None:
    assert read_wav(wav(struct.pack("<5h", 1, 2, 3, 4, 5), channels=2))[0].shape == (2, 2)


def test_rf64_has_its_size_elsewhere() -> None:
    body = struct.pack("<2h", 1, 2)
    plain = wav(body, size=0xFFFFFFFF, after=chunk(b"id3 ", b"x" * 8))
    ds64 = chunk(b"ds64", struct.pack("<QQQI", 0, len(body), 2, 0))
    assert read_wav(b"RF64" + plain[4:12] + ds64 + plain[12:])[0].shape == (1, 2)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.float32, np.float64])
@pytest.mark.parametrize("channels", [1, 2, 5])
def test_samples_equal_scipys(dtype: Any, channels: int, tmp_path: Path) -> None:
    wavfile = pytest.importorskip("scipy.io.wavfile", reason="this Pyodide has no scipy")
    rng = np.random.default_rng(0)
    kind = np.dtype(dtype).kind
    shape = (333, channels)
    if kind == "f":
        samples = rng.normal(size=shape).astype(dtype)
    else:
        samples = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)
    path = tmp_path / "x.wav"
    wavfile.write(path, 22050, samples)
    ours, rate = read_wav(path.read_bytes())
    scaled = samples / 1 if kind == "f" else samples / 2.0 ** (8 * samples.itemsize - 1) - (kind == "u")
    assert rate == 22050
    np.testing.assert_allclose(ours.T, scaled, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("bits", [16, 32])
def test_written_files_are_read_by_scipy_and_by_us(bits: int, tmp_path: Path) -> None:
    wavfile = pytest.importorskip("scipy.io.wavfile", reason="this Pyodide has no scipy")
    audio = Audio(np.stack([tone(440, 8000), tone(100, 8000, peak=1.5)]), 8000)
    path = tmp_path / "x.wav"
    path.write_bytes(audio.to_wav(bits))
    rate, samples = wavfile.read(path)
    assert rate == 8000
    expected = audio.samples if bits == 32 else np.clip(audio.samples, -1, 1)
    np.testing.assert_allclose(samples.T / (1 if bits == 32 else 32768), expected, atol=0 if bits == 32 else 2**-15)
    np.testing.assert_allclose(Audio.open(path).samples, expected, atol=0 if bits == 32 else 2**-15)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected a sound file, got 0 bytes"),
        (b"ID3\x04\0\0\0\0\0\0", "expected a WAV file, got 10 bytes that start with b'ID3"),
        (b"RIFF\0\0\0\0WAVE", 'expected a "fmt " chunk, found none'),
        (wav(b"")[:36], "expected a \"data\" chunk, found 'fmt '"),
        (wav(b"ab", tag=2, bits=4), "Microsoft ADPCM of 8 bits, expected integers"),
        (wav(b"ab", tag=0x55, bits=0), "MP3 of 0 bits"),
        (wav(b"ab", tag=0x1234), "coding 0x1234 of 16 bits"),
        (wav(b"ab", bits=40), "integers of 40 bits"),
        (wav(b"ab", channels=0), "0 channels at 16000 Hz"),
        (wav(b"ab", rate=0), "1 channels at 0 Hz"),
        (wav(b"ab", tag=0xFFFE, extra=b"\x16\0" + b"\xff" * 22), "unknown subformat ffff"),
    ],
)
def test_what_is_no_readable_sound_is_named(data: bytes, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Audio.open(data)


@pytest.mark.parametrize("kind", ["FLAC", "OGG", "MP3", "AIFF"])
def test_other_formats_are_read_by_soundfile_where_it_is_installed(kind: str) -> None:
    soundfile = pytest.importorskip("soundfile", reason="optional; the browser decodes these in the page")
    out = io.BytesIO()
    sound = np.stack([tone(440, 16000), tone(880, 16000)])
    soundfile.write(out, sound.T, 16000, format=kind)
    audio = Audio.open(out.getvalue())
    assert (audio.channels, audio.sample_rate_hz) == (2, 16000)
    middle = slice(1000, 7000)
    assert rms(audio.samples[:, middle] - sound[:, middle]) < 0.05


@pytest.mark.parametrize(
    ("samples", "rate", "message"),
    [
        (np.zeros(3, np.int16), 8000, "expected float samples, got int16; divide integers by their full scale"),
        (np.zeros(0), 8000, r"with at least 1 sample, got \[0\]"),
        (np.zeros((2, 2, 2)), 8000, r"got \[2, 2, 2\]"),
        (np.zeros(3), 0, "at least 1 Hz, got 0"),
        (np.zeros(3), 8000.5, "whole sample rate of at least 1 Hz, got 8000.5"),
    ],
)
def test_an_array_that_is_no_sound_is_refused(samples: np.ndarray, rate: float, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Audio(samples, rate)  # type: ignore[arg-type]


def test_the_argument_is_never_changed() -> None:
    samples = np.array([1, np.nan, np.inf], np.float32)
    with pytest.warns(UserWarning, match="2 of 3"):
        audio = Audio(samples, 8000)
    assert audio.samples.tolist() == [1, 0, 0]
    assert np.isnan(samples[1])


# ------------------------------------------------------------------------------------------------- resampling

RATES = [(8000, 16000), (11025, 16000), (44100, 16000), (48000, 16000), (16000, 44100), (22050, 24000), (16000, 16001)]


@pytest.mark.parametrize(("rate", "new"), RATES)
def test_every_tone_below_the_band_edge_keeps_its_shape(rate: int, new: int) -> None:
    edge = min(rate, new) / 2
    for share in (0.01, 0.3, 0.6, 0.8):
        ours = resample(tone(share * edge, rate)[None], rate, new)[0]
        expected = tone(share * edge, new, seconds=0.51)[: ours.size]
        middle = slice(ours.size // 8, -ours.size // 8)  # the ends fade in and out of silence
        error = rms(ours[middle] - expected[middle]) / rms(expected)
        assert 20 * math.log10(error) < -75, f"{share} of the band"


@pytest.mark.parametrize(("rate", "new"), [(48000, 16000), (44100, 16000), (44100, 8000), (96000, 11025)])
def test_nothing_above_the_new_band_comes_back(rate: int, new: int) -> None:
    for hz in np.linspace(new / 2 * 1.02, rate / 2 * 0.98, 7):
        ours = resample(tone(hz, rate)[None], rate, new)[0]
        assert rms(ours[ours.size // 8 : -ours.size // 8]) < 0.3536 * 10 ** (-60 / 20), f"{hz} Hz"


@pytest.mark.parametrize(("rate", "new"), RATES[:-1])
def test_results_are_scipys_within_its_pass_band(rate: int, new: int) -> None:
    """scipy's default filter is short, so the comparison stays below 0.6 of the band."""
    signal = pytest.importorskip("scipy.signal", reason="this Pyodide has no scipy")
    edge = min(rate, new) / 2
    sound = tone(0.1 * edge, rate) + tone(0.45 * edge, rate, peak=0.3)
    common = math.gcd(rate, new)
    theirs = signal.resample_poly(sound, new // common, rate // common)
    ours = resample(sound[None], rate, new)[0]
    assert ours.size == theirs.size
    middle = slice(ours.size // 8, -ours.size // 8)
    np.testing.assert_allclose(ours[middle], theirs[middle], atol=2e-3)


def test_a_constant_stays_the_constant() -> None:
    ours = resample(np.ones((2, 3000), np.float32), 44100, 16000)
    np.testing.assert_allclose(ours[:, 100:-100], 1, atol=1e-5)


def test_channels_do_not_mix() -> None:
    left, right = tone(500, 44100), tone(900, 44100)
    both = Audio(np.stack([left, right]), 44100).resample(16000).samples
    np.testing.assert_array_equal(both[0], Audio(left, 44100).resample(16000).samples)
    np.testing.assert_array_equal(both[1], Audio(right, 44100).resample(16000).samples)


@pytest.mark.parametrize(("rate", "new"), [*RATES, (16000, 16000), (50, 16000)])
def test_pieces_of_a_sound_give_what_the_whole_gives(rate: int, new: int) -> None:
    rng = np.random.default_rng(rate)
    sound = rng.normal(0, 0.3, 3 * rate // 4 + 7).astype(np.float32)
    whole = resample(sound[None], rate, new)[0]
    resampler = Resampler(rate, new)
    cuts = np.sort(rng.integers(0, len(sound), 20))
    pieces = [resampler.feed(piece) for piece in np.split(sound, cuts)]
    late_by = len(whole) - sum(len(piece) for piece in pieces)
    assert late_by <= 33 * max(1, new / rate) + 1, "half a filter"
    together = np.concatenate([*pieces, resampler.finish()])
    assert together.dtype == np.float32
    assert len(together) == len(whole)
    np.testing.assert_allclose(together, whole, atol=1e-6)


@pytest.mark.parametrize("rate", [0, -1, 10_000_000])
def test_an_absurd_rate_is_refused(rate: int) -> None:
    with pytest.raises(InvalidInput, match=rf"expected sample rates of 1 to 384000 Hz, got {rate}"):
        Audio(tone(100, 8000), 8000).resample(rate)


def test_a_header_that_lies_about_its_rate_takes_no_memory() -> None:
    with pytest.raises(InvalidInput, match=r"resample: 1000000 samples at 1 Hz are 16,000,000,000 at 16000 Hz"):
        Audio(np.zeros(1_000_000), 1).resample(16000)


def test_the_longest_filter_still_fits() -> None:
    assert resample(np.ones((1, 40), np.float32), 383_999, 384_000).shape == (1, 41)


def test_write_wav_names_a_width_it_does_not_write() -> None:
    with pytest.raises(InvalidInput, match="expected 16 or 32 bits, got 24"):
        write_wav(np.zeros((1, 1), np.float32), 8000, 24)
