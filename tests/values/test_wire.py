"""Values cross between the page and Python unchanged, or are refused with a sentence."""

import asyncio
import enum
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from onnxlet import App, InvalidInput, wire
from onnxlet.form import Param, read_function
from onnxlet.media.npy import write_npy
from onnxlet.values import Audio, Drawing, Field, File, Image, Labels, Number, Table, Tensor, Text

DATA = Path(__file__).parents[1] / "data"


class Mode(enum.Enum):
    FAST = 1
    GOOD = 2


def param(annotation: Any) -> Param:
    def f(x):  # type: ignore[no-untyped-def]
        pass

    f.__annotations__ = {"x": annotation}
    return read_function(f).inputs[0]


def decode(annotation: Any, value: Any, *buffers: bytes) -> Any:
    return wire.decode(param(annotation), value, buffers)


def round_trip(annotation: Any, value: Any) -> Any:
    """Through JSON text, as the page and site.json carry it."""
    buffers: list[bytes] = []
    encoded = wire.encode_input(param(annotation), value, buffers)
    return decode(annotation, json.loads(json.dumps(encoded, allow_nan=False)), *buffers)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (str, "Ω \u2028</script>"),
        (int, 3),
        (int, 2**53 + 1),
        (int, -(2**70)),
        (float, 0.1),
        (float, float("inf")),
        (float, 3),
        (bool, True),
        (Mode, Mode.GOOD),
        (Literal[1, "x"], 1),
        (list[float], [1.5, 2]),
        (tuple[int, ...], (1, 2)),
        (dict, {"a": [1]}),
        (bytes, b"\0\xff"),
        (bytes, b""),
        (File, File(b"x", "a.bin", "application/x")),
    ],
)
def test_inputs_come_back_equal(annotation: Any, value: Any) -> None:
    again = round_trip(annotation, value)
    assert again == value
    assert isinstance(again, float if annotation is float else type(value))


def test_nan_comes_back() -> None:
    assert np.isnan(round_trip(float, float("nan")))


def test_numpy_scalars_count_as_numbers() -> None:
    assert round_trip(int, np.int64(2**60)) == 2**60
    assert round_trip(float, np.float32(0.5)) == 0.5


def test_pictures_come_back_equal() -> None:
    opened = Image.open(DATA / "I02_alpha.png")
    made = Image.from_array(np.random.default_rng(0).integers(0, 256, (3, 4, 4), dtype=np.uint8))
    for image in (opened, made):
        np.testing.assert_array_equal(round_trip(Image, image).rgba, image.rgba)
    assert round_trip(Image, opened).source == (DATA / "I02_alpha.png").read_bytes()


def test_drawings_come_back_equal() -> None:
    ink = Annotated[Drawing, Field(ink=10, paper=200)]
    drawn = Drawing.from_strokes([{"size": 3, "points": [1, 2, 8.5, 9]}], 12, 10, ink=10, paper=200)
    for drawing in (drawn, Drawing.open(DATA / "I05_grey.jpg")):
        again = round_trip(ink, drawing)
        assert isinstance(again, Drawing)
        np.testing.assert_array_equal(again.array, drawing.array)


def test_sounds_come_back_equal() -> None:
    opened = Audio.open(DATA / "A03_f64.wav")
    made = Audio(np.random.default_rng(0).normal(size=(2, 50)), 22050)
    for audio in (opened, made):
        again = round_trip(Audio, audio)
        np.testing.assert_array_equal(again.samples, audio.samples)
        assert again.sample_rate_hz == audio.sample_rate_hz


def test_tables_and_tensors_come_back_equal() -> None:
    for table in (Table.open(b"a;b\n1;x y\n", "t.csv"), Table(["a", "b"], [["1", 'q"\n'], ["", "☃"]])):
        again = round_trip(Table, table)
        assert (again.columns, again.rows) == (table.columns, table.rows)
    array = np.arange(6, dtype=np.float16).reshape(2, 3)
    np.testing.assert_array_equal(round_trip(np.ndarray, array), array)


def test_a_changed_picture_does_not_cross_as_the_file_it_came_from() -> None:
    small = Image.open(DATA / "I07_line300.png").resize(30, 30)
    assert round_trip(Image, small).size == (30, 30)


def test_a_camera_frame_is_raw_rgba() -> None:
    frame = {"kind": "image", "encoding": "rgba", "width": 2, "height": 1, "buffer": 0}
    image = decode(Image, frame, bytes([1, 2, 3, 255, 9, 9, 9, 0]))
    assert image.array.tolist() == [[[1, 2, 3], [255, 255, 255]]]


def test_decoded_sound_comes_interleaved_and_is_resampled_where_asked() -> None:
    sound = {"kind": "audio", "encoding": "f32", "sample_rate": 8000, "channels": 2, "buffer": 0}
    frames = np.float32([[0.1, 0.2], [0.3, 0.4]])
    assert decode(Audio, sound, frames.tobytes()).samples.tolist() == frames.T.tolist()
    assert decode(Annotated[Audio, Field(sample_rate=16000)], sound, frames.tobytes()).samples.shape == (2, 4)


def test_a_piece_of_live_sound_says_where_in_the_recording_it_begins() -> None:
    whole = {"kind": "audio", "encoding": "f32", "sample_rate": 8000, "channels": 2, "buffer": 0}
    frames = np.zeros((4, 2), np.float32).tobytes()
    assert decode(Audio, whole, frames).start_s == 0
    piece = decode(Annotated[Audio, Field(sample_rate=16000)], {**whole, "start_s": 1.5}, frames)
    assert piece.start_s == piece.mono().start_s == 1.5
    with pytest.raises(InvalidInput, match="start_s"):
        decode(Audio, {**whole, "start_s": "late"}, frames)


def test_rows_can_come_as_json() -> None:
    table = decode(Table, {"kind": "table", "columns": ["a"], "rows": [["1"], ["2"]]})
    assert table.numeric().tolist() == [[1], [2]]


def test_a_tensor_is_cast_where_nothing_is_lost() -> None:
    wants = Annotated[np.ndarray, Tensor(dtype="float32", shape=(None, 2))]
    array = decode(wants, {"kind": "tensor", "buffer": 0}, write_npy(np.arange(4).reshape(2, 2)))
    assert (array.dtype, array.tolist()) == (np.float32, [[0, 1], [2, 3]])


SCALE = Annotated[int, Number(min=0, max=9)]
RGBA = {"encoding": "rgba", "width": 2, "height": 2, "buffer": 0}
STROKES = {"width": 9, "height": 9, "strokes": [{"size": 1, "points": [1]}]}
WANTS = Annotated[np.ndarray, Tensor(dtype="int64", shape=(None, 2))]


@pytest.mark.parametrize(
    ("annotation", "value", "buffers", "message"),
    [
        (Image, None, [], "expected a picture, got nothing; give one"),
        (Image, [1], [], "expected an object, got list"),
        (Image, {}, [], 'expected "buffer" to be a whole number, got None'),
        (Image, {"buffer": True}, [b""], 'expected "buffer" to be a whole number, got True'),
        (Image, {"buffer": 1}, [b""], 'expected "buffer" to be one of 1 buffers, got 1'),
        (Image, {"buffer": -1}, [b""], 'expected "buffer" to be one of 1 buffers, got -1'),
        (Image, {"buffer": 0, "name": "a.txt"}, [b"hello"], r'picture "a.txt": expected an image .* got 5 bytes'),
        (Image, RGBA, [b"1234"], "expected 2 x 2 x 4 = 16 bytes of RGBA with pixels, got 4"),
        (Image, {**RGBA, "width": 0}, [b""], "expected 0 x 2 x 4 = 0 bytes"),
        (Drawing, STROKES, [], "Drawing: stroke 0: expected a size over 0 and pairs"),
        (Drawing, {**STROKES, "width": 10**9}, [], "expected 1 to 4096 pixels a side"),
        (Drawing, {**STROKES, "strokes": 3}, [], 'expected "strokes" to be a list, got 3'),
        (Drawing, {**STROKES, "strokes": [3]}, [], 'stroke 0: expected {"size"'),
        (str, {"text": 3}, [], 'expected "text" to be a text, got 3'),
        (Annotated[str, Text(max_length=2)], {"text": "abc"}, [], "expected at most 2 characters, got 3"),
        (list[int], {"text": "[1,"}, [], r"expected JSON, such as \[1, 2, 3\]: "),
        (list[int], {"text": "{}"}, [], "expected a JSON array, got {}"),
        (dict, {"text": "[]"}, [], r"expected a JSON object, got \[\]"),
        (int, {"value": 2.5}, [], "expected a whole number, got 2.5"),
        (int, {"value": "2.5"}, [], "expected a whole number, got '2.5'"),
        (int, {"value": "Infinity"}, [], "expected a whole number, got 'Infinity'"),
        (int, {"value": float("inf")}, [], "expected a whole number, got inf"),
        (float, {"value": None}, [], "expected a number, got None"),
        (float, {"value": True}, [], "expected a number, got True"),
        (float, {"value": [1]}, [], r"expected a number, got \[1\]"),
        (SCALE, {"value": 10}, [], "expected 0 to 9, got 10"),
        (Annotated[float, Number(min=1)], {"value": "NaN"}, [], "expected at least 1, got NaN"),
        (Annotated[float, Number(max=1)], {"value": 2}, [], "expected at most 1, got 2"),
        (bool, {"value": 1}, [], 'expected "value" to be bool, got 1'),
        (Mode, {"value": "SLOW"}, [], "expected one of FAST, GOOD, got 'SLOW'"),
        (Mode, {"value": ["FAST"]}, [], r"expected one of FAST, GOOD, got \['FAST'\]"),
        (Annotated[bytes, Field(max_bytes=1)], {"buffer": 0}, [b"12"], "expected at most 1 bytes, got 2"),
        (Audio, {"buffer": 0}, [b""], "expected a sound file, got 0 bytes"),
        (
            Audio,
            {"encoding": "f32", "channels": 2, "sample_rate": 1, "buffer": 0},
            [b"1234"],
            "whole frames of 2 float32",
        ),
        (Audio, {"encoding": "f32", "channels": 1, "sample_rate": 1, "buffer": 0}, [b""], "at least 1 sample"),
        (Audio, {"encoding": "f32", "channels": 1, "sample_rate": 0.5, "buffer": 0}, [b"1234"], "whole sample rate"),
        (Table, {"buffer": 0}, [b"a,b\n1\n"], "line 2 has 1 cells, expected 2"),
        (Table, {"columns": ["a"], "rows": [3]}, [], 'expected "rows" to be lists of cells'),
        (Annotated[Table, Field(columns=["z"])], {"buffer": 0}, [b"a,b\n"], "expected columns z; the table has a, b"),
        (np.ndarray, {"buffer": 0}, [b"[]"], "expected a .npy file, got 2 bytes"),
        (WANTS, {"buffer": 0}, [write_npy(np.zeros((2, 2)))], "expected int64, got float64; convert it by astype"),
        (WANTS, {"buffer": 0}, [write_npy(np.zeros(2, int))], r"expected shape \['any', 2\], got \[2\]"),
    ],
)
def test_a_wrong_input_is_named_with_what_was_expected(
    annotation: Any, value: Any, buffers: list[bytes], message: str
) -> None:
    with pytest.raises(InvalidInput, match=f'^"x": .*{message}'):
        decode(annotation, value, *buffers)


def test_whole_numbers_may_come_as_floats_or_texts() -> None:
    assert decode(int, {"value": 3.0}) == 3
    assert decode(int, {"value": "9007199254740993"}) == 9007199254740993
    assert isinstance(decode(float, {"value": 3}), float)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(Image, 3), (str, 3), (int, "3"), (bool, 1), (Audio, b""), (Table, []), (Mode, "FAST"), (File, "")],
)
def test_a_native_value_of_another_type_is_refused(annotation: Any, value: Any) -> None:
    with pytest.raises(InvalidInput, match=rf'"x": expected .*, got {type(value).__name__}'):
        wire.encode_input(param(annotation), value, [])


# ------------------------------------------------------------------------------------------------- whole calls


def measure(
    image: Image, times: int = 2, name: str | None = None, *, loud: bool = False
) -> tuple[Labels, np.ndarray, str]:
    labels = Labels({"wide": image.width * times, "high": image.height})
    return labels, image.array, f"{name} {loud}"


async def nothing(x: int) -> None:
    await asyncio.sleep(0)


def test_a_call_goes_from_wire_to_wire() -> None:
    app = App(measure)
    inputs = [{"kind": "image", "buffer": 0, "name": "I02_alpha.png", "type": "image/png"}]
    displays, buffers = asyncio.run(wire.call(app, "measure", inputs, [(DATA / "I02_alpha.png").read_bytes()]))
    assert [display["kind"] for display in displays] == ["labels", "tensor", "text"]
    assert displays[0]["items"][0] == {"label": "wide", "score": 24}
    assert displays[1]["shape"] == [8, 12, 3]
    assert displays[2]["text"] == "None False"
    assert len(buffers) == 1
    json.dumps(displays, allow_nan=False)


def test_what_is_not_given_keeps_its_default() -> None:
    inputs = [{"kind": "image", "buffer": 0}, None, {"text": "a"}, {"value": True}]
    displays, _ = asyncio.run(wire.call(App(measure), "measure", inputs, [(DATA / "I02_alpha.png").read_bytes()]))
    assert displays[0]["items"][0]["score"] == 24
    assert displays[2]["text"] == "a True"


def test_a_function_without_results_shows_nothing() -> None:
    assert asyncio.run(wire.call(App(nothing), "nothing", [{"value": 1}], [])) == ([], [])


def test_a_tuple_without_annotation_gives_several_displays() -> None:
    def f():  # type: ignore[no-untyped-def]
        return "a", 2, np.zeros(1)

    displays, _ = asyncio.run(wire.call(App(f), "f", [], []))
    assert [display["kind"] for display in displays] == ["text", "json", "tensor"]


def test_a_result_of_another_length_is_named() -> None:
    def f() -> tuple[str, str]:
        return ("a",)  # type: ignore[return-value]

    with pytest.raises(InvalidInput, match="f: returned 1 values, its annotation promises 2"):
        asyncio.run(wire.call(App(f), "f", [], []))
    with pytest.raises(InvalidInput, match="f: expected at most 0 inputs, got 1"):
        asyncio.run(wire.call(App(f), "f", [None], []))


def test_examples_cross_as_the_page_would_send_them() -> None:
    app = App(measure, examples=[{"image": DATA / "I08_png_named.jpg", "loud": True}])
    values = app.load(app.examples[0])
    inputs, buffers = wire.encode_inputs(app.function("measure"), values)
    assert inputs[0] == {"kind": "image", "buffer": 0, "name": "I08_png_named.jpg", "type": ""}
    assert inputs[1:] == [None, None, {"kind": "toggle", "value": True}]
    assert buffers == [(DATA / "I08_png_named.jpg").read_bytes()]
    displays, _ = asyncio.run(wire.call(app, "measure", inputs, buffers))
    assert displays[2]["text"] == "None True"
