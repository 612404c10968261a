"""Whatever comes in, values are right or refused with a sentence: random and damaged files, random values."""

import json
import warnings
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from onnxlet.errors import InvalidInput
from onnxlet.media.npy import read_npy, write_npy
from onnxlet.media.resample import resample
from onnxlet.media.resize import resize
from onnxlet.values import Audio, Table
from onnxlet.values.json_text import to_text
from tests.values.test_audio import ALAW, FLOAT, PCM, wav
from tests.values.test_images import COLOUR, encoded, size_or_sentence
from tests.values.test_resize import FILTERS, by_pillow, noise

side = st.integers(1, 300)
cell = st.text("ab1,;|\t\"'\r\n é☃", max_size=8)
leaf = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


@settings(max_examples=150, deadline=None)
@given(h=side, w=side, height=side, width=side, method=st.sampled_from([*FILTERS]), seed=st.integers(0, 99))
def test_levels_equal_pillows_for_any_size(h: int, w: int, height: int, width: int, method: str, seed: int) -> None:
    array = noise((h, w), seed)
    np.testing.assert_array_equal(resize(array, width, height, method), by_pillow(array, width, height, method))


@settings(max_examples=200, deadline=None)
@given(
    kind=st.sampled_from(["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"]),
    flips=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=6),
)
def test_a_flipped_byte_never_raises_anything_but_a_sentence(kind: str, flips: list[tuple[float, int]]) -> None:
    data = bytearray(encoded(Pillow.fromarray(COLOUR), kind))
    for place, value in flips:
        data[int(place * (len(data) - 1))] = value
    size = size_or_sentence(bytes(data))
    assert isinstance(size, tuple) or size.startswith("picture: ")


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_damaged_file_never_raises_anything_but_a_sentence(data: st.DataObject) -> None:
    tag, bits = data.draw(st.sampled_from([(PCM, 8), (PCM, 16), (PCM, 24), (FLOAT, 32), (FLOAT, 64), (ALAW, 8)]))
    channels = data.draw(st.integers(1, 3))
    good = bytearray(wav(data.draw(st.binary(max_size=60)), tag=tag, bits=bits, channels=channels))
    for _ in range(data.draw(st.integers(0, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            audio = Audio.open(bytes(good[: data.draw(st.integers(0, len(good)))]))
        except InvalidInput:
            return
    assert np.isfinite(audio.samples).all()
    assert audio.samples.size >= 1


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=200))
def test_random_chunks_never_raise_anything_but_a_sentence(data: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            Audio.open(b"RIFF\0\0\0\0WAVE" + data)
        except InvalidInput:
            return


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 300), rate=st.integers(1, 4000), new=st.integers(1, 4000), channels=st.integers(1, 3))
def test_the_length_is_the_duration_at_the_new_rate(n: int, rate: int, new: int, channels: int) -> None:
    ours = resample(np.ones((channels, n), np.float32), rate, new)
    assert ours.shape == (channels, -(-n * new // rate))
    assert np.isfinite(ours).all()


@settings(max_examples=150, deadline=None)
@given(data=st.data(), width=st.integers(2, 4))
def test_what_is_written_as_csv_is_read_back(data: st.DataObject, width: int) -> None:
    row = st.lists(cell, min_size=width, max_size=width)
    columns = [f"c{i}" for i in range(width)]
    table = Table(columns, data.draw(st.lists(row, max_size=5)))
    again = Table.open(table.to_csv().encode())
    assert (again.columns, again.rows) == (table.columns, table.rows)


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=80))
def test_random_bytes_are_a_table_or_a_sentence(data: bytes) -> None:
    try:
        table = Table.open(data)
    except InvalidInput:
        return
    assert all(len(row) == len(table.columns) for row in table.rows)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_npy_is_an_array_or_a_sentence(data: st.DataObject) -> None:
    good = bytearray(write_npy(np.arange(10, dtype=np.float32)))
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(6, len(good) - 1))] = data.draw(st.integers(0, 255))
    try:
        read_npy(bytes(good[: data.draw(st.integers(0, len(good)))]))
    except InvalidInput:
        return


@given(st.recursive(leaf, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30))
def test_what_json_can_say_comes_back_equal(value: Any) -> None:
    assert json.loads(to_text(value)) == value
