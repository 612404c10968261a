"""Results become displays that a person can read."""

import datetime
import enum
import json
import math
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from onnxlet.dtypes import DataType, Narrow
from onnxlet.errors import InvalidInput
from onnxlet.form import Output
from onnxlet.media.npy import read_npy
from onnxlet.values import Audio, Box, Boxes, Image, Json, Labels, Mask, Span, Spans, Table
from onnxlet.values.json_text import to_text
from onnxlet.wire import encode


def shown(value: Any, kind: str = "auto") -> tuple[dict[str, Any], list[bytes]]:
    buffers: list[bytes] = []
    wire = encode(value, Output("Result", kind), buffers)
    json.dumps(wire, allow_nan=False)  # whatever crosses is JSON
    return wire, buffers


# -------------------------------------------------------------------------------------------------------- json


def test_a_visitor_can_read_every_digit() -> None:
    """Case P03."""
    text = to_text(
        {
            "id": 2**53 + 1,
            "id64": np.int64(-(2**63)),
            "u64": np.uint64(2**64 - 1),
            "neg": -(2**31) - 1,
            "f32": np.float32(0.1),
            "f16": np.float16(0.1),
            "f64": np.float64(0.1),
            "nan": math.nan,
            "inf": np.inf,
            "none": None,
            "bool": np.bool_(True),
            "text": "\u2028</script>'\"&",
            "rtl": "\u0645\u0631\u062d\u0628\u0627 1+2",
            "bytes": b"\x00\xff",
            "zero_d": np.array(5),
            "nested": {"a": [np.int32(1), (2, 3)]},
            "obj": np.array([10**30], dtype=object),
        }
    )
    lines = text.splitlines() if "\u2028" not in text else text.split("\n")
    assert [line.strip().rstrip(",") for line in lines] == [
        "{",
        '"id": 9007199254740993',
        '"id64": -9223372036854775808',
        '"u64": 18446744073709551615',
        '"neg": -2147483649',
        '"f32": 0.1',
        '"f16": 0.1',
        '"f64": 0.1',
        '"nan": NaN',
        '"inf": Infinity',
        '"none": null',
        '"bool": true',
        '"text": "\u2028</script>\'\\"&"',
        '"rtl": "\u0645\u0631\u062d\u0628\u0627 1+2"',
        '"bytes": "00ff"',
        '"zero_d": 5',
        '"nested": {"a": [1, [2, 3]]}',
        '"obj": [1000000000000000000000000000000]',
        "}",
    ]


class Size(enum.Enum):
    BIG = "big"


@dataclass
class Found:
    name: str
    where: tuple[int, int]


Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Size.BIG, '"big"'),
        (Found("x", (1, 2)), '{"name": "x", "where": [1, 2]}'),
        (Pair(1, 2), '{"left": 1, "right": 2}'),
        ({3, 1, 2}, "[1, 2, 3]"),
        (frozenset({"b", "a", 1}), '[1, "a", "b"]'),
        (range(3), "[0, 1, 2]"),
        ({1: "a", (1, 2): "b", None: "c", Size.BIG: "d"}, '{"1": "a", "(1, 2)": "b", "null": "c", "big": "d"}'),
        (np.ma.array([1, 2], mask=[False, True]), "[1, null]"),
        (np.ma.masked, "null"),
        (np.array([[1.5, np.nan]], np.float32), "[[1.5, NaN]]"),
        (np.array(["a", "b"]), '["a", "b"]'),
        (np.zeros((2, 0)), "[[], []]"),
        (np.array([1, 2], ">i8"), "[1, 2]"),
        (1 + 2j, '"(1+2j)"'),
        (datetime.date(2026, 11, 30), '"2026-11-30"'),
        (np.datetime64("2026-11-30"), '"2026-11-30"'),
        (1e300, "1e+300"),
        (-0.0, "-0.0"),
        (np.float32(16777216), "16777216.0"),
        ("half \ud83d", '"half \\ud83d"'),
        (Image(np.zeros((2, 3, 3), np.uint8)), '"<Image 3 x 2>"'),
        (Json({"a": Json([1])}), '{"a": [1]}'),
        ([], "[]"),
        ({}, "{}"),
        (b"x" * 5000, f'"{"78" * 4096}... (5,000 bytes)"'),
    ],
)
def test_values_that_json_lacks_have_a_readable_form(value: Any, text: str) -> None:
    assert to_text(value) == text


def test_long_lists_are_paragraphs_and_stay_json() -> None:
    value = {"scores": list(range(200)), "rows": [{"a": i, "b": "x" * 40} for i in range(5)]}
    text = to_text(value)
    assert max(map(len, text.splitlines())) <= 110
    assert len(text.splitlines()) < 40
    assert json.loads(text) == value


def test_a_huge_array_is_described_and_not_written_out() -> None:
    assert (
        to_text({"x": np.zeros((1000, 1000))})
        == '{"x": "float64 [1000, 1000]: 1,000,000 elements, too many to write out"}'
    )


def test_a_huge_integer_keeps_every_digit() -> None:
    assert to_text(10**4000) == "1" + "0" * 4000
    assert int(to_text(10**5000).strip('"'), 16) == 10**5000


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append({"again": loop})
    with pytest.raises(InvalidInput, match="got a value that contains itself"):
        to_text(loop)
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    with pytest.raises(InvalidInput, match="expected at most 100 levels"):
        to_text(deep)
    twice = [1]
    assert to_text([twice, twice]) == "[[1], [1]]"


# ------------------------------------------------------------------------------------------------------ labels


def test_logits_become_shares_best_first() -> None:
    labels = Labels.from_logits(np.float32([[0, np.log(3), -np.inf]]), names=["a", "b", "c"])
    assert [label for label, _ in labels.items] == ["b", "a", "c"]
    np.testing.assert_allclose([score for _, score in labels.items], [0.75, 0.25, 0])
    assert labels.best == "b"


def test_large_logits_do_not_overflow() -> None:
    labels = Labels.from_logits(np.float32([1e38, 3e38]), names="ab")
    assert labels.items == [("b", 1.0), ("a", 0.0)]


def test_half_floats_are_summed_in_double() -> None:
    labels = Labels.from_logits(np.zeros(10_000, np.float16), top=None)
    assert sum(score for _, score in labels.items) == pytest.approx(1)


def test_equal_scores_keep_their_order_and_the_rest_is_cut() -> None:
    assert [label for label, _ in Labels.from_scores([1, 2, 2, 1, 2, 0], "abcdef").items] == ["b", "c", "e", "a", "d"]


def test_names_may_be_a_mapping_or_left_out() -> None:
    assert Labels.from_scores([0.1, 0.9], {0: "no", 1: "yes"}).best == "yes"
    assert Labels.from_scores([0.1, 0.9]).best == "1"
    assert Labels({"a": 0.2, "b": 0.8}).items == [("b", 0.8), ("a", 0.2)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Labels.from_logits([1, np.nan]), "score 1 is NaN; look at what the model was given"),
        (lambda: Labels.from_scores([1, np.nan]), "score 1 is NaN"),
        (lambda: Labels({"a": math.nan}), 'the score of "a" is NaN'),
        (lambda: Labels.from_logits([1, np.inf]), "the largest logit is inf, expected a finite one"),
        (lambda: Labels.from_logits([-np.inf]), "the largest logit is -inf"),
        (lambda: Labels.from_scores([1, 2], "abc"), "expected 2 names, one a score, got 3"),
        (lambda: Labels.from_scores([1, 2], {0: "a"}), "no name for class 1; names go from 0 to 0"),
        (lambda: Labels.from_scores(np.zeros((2, 2))), r"expected scores of shape \[N\] or \[1, N\], got \[2, 2\]"),
        (lambda: Labels.from_scores([]), r"got \[0\]"),
        (lambda: Labels.from_logits([]), r"got \[0\]"),
    ],
)
def test_scores_that_are_none_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


def test_labels_cross_in_order() -> None:
    expected = [{"label": "b", "score": 2.0}, {"label": "a", "score": 1.0}]
    assert shown(Labels({"a": 1, "b": 2})) == ({"kind": "labels", "label": "Result", "items": expected}, [])
    assert shown({"a": 1, "b": 2}, "labels")[0]["items"] == expected
    assert shown(Labels({"a": math.inf}))[0]["items"][0]["score"] == "inf"


# ---------------------------------------------------------------------------------------------------- pictures


def test_pictures_cross_as_rgba() -> None:
    rgba = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    wire, buffers = shown(Image(rgba))
    assert (wire["width"], wire["height"], wire["buffer"], buffers) == (3, 2, 0, [rgba.tobytes()])
    grey = np.uint8([[7]])
    assert shown(Image(grey))[1] == [bytes([7, 7, 7, 255])]
    assert shown(np.array([[1.0]]), "image")[1] == [bytes([255] * 4)]


def test_boxes_are_put_in_order_and_drawn_on_their_picture() -> None:
    image = Image(np.zeros((4, 8, 3), np.uint8))
    wire, buffers = shown(Boxes([("cat", np.float32(0.5), np.float32([5, 3, 1, 2])), Box("x", 1, (0, 0, 9, 9))], image))
    assert (wire["width"], wire["height"]) == (8, 4)
    assert wire["items"][0] == {"label": "cat", "score": 0.5, "box": [1, 2, 5, 3]}
    assert wire["items"][1]["box"] == [0, 0, 9, 9]
    assert len(buffers[wire["buffer"]]) == 8 * 4 * 4
    assert "buffer" not in shown(Boxes([], size=(8, 4)))[0]


@pytest.mark.parametrize("box", [(0, 0, 1), (0, 0, np.nan, 1), (0, 0, np.inf, 1)])
def test_a_box_without_four_finite_corners_is_named(box: Any) -> None:
    with pytest.raises(InvalidInput, match=r'item 0 \("cat"\): expected 4 finite corners'):
        Boxes([("cat", 1, box)], size=(8, 8))


def test_boxes_need_a_size() -> None:
    with pytest.raises(InvalidInput, match=r"expected image=, or size=\(width, height\)"):
        Boxes([])


def test_masks_are_scaled_to_their_picture() -> None:
    image = Image(np.zeros((4, 4, 3), np.uint8))
    wire, buffers = shown(Mask(np.eye(2, dtype=bool), image))
    mask = np.frombuffer(buffers[wire["buffer"]], np.uint8).reshape(4, 4)
    np.testing.assert_array_equal(mask, np.kron(np.eye(2, dtype=np.uint8) * 255, np.ones((2, 2), np.uint8)))
    assert len(buffers[wire["picture"]]) == 64
    assert shown(Mask(np.array([[0, 0.5, 1]])))[1] == [bytes([0, 128, 255])]
    with pytest.raises(InvalidInput, match=r"expected \[H, W\], got \[1, 2, 2\]"):
        Mask(np.zeros((1, 2, 2)))


# ----------------------------------------------------------------------------------------------- highlighted text


def test_passages_cross_with_their_places_in_code_points() -> None:
    text = "\U0001f3d4 Zürich, 東京"
    wire, buffers = shown(Spans(text, [("LOC", 0.75, 2, 8), Span("LOC", 0.5, 10, 12, "Tokyo"), ("", 0.25, 0, 0)]))
    assert wire["kind"] == "spans"
    assert wire["text"] == text
    assert wire["items"] == [
        {"label": "LOC", "score": 0.75, "start": 2, "end": 8, "word": "Zürich"},
        {"label": "LOC", "score": 0.5, "start": 10, "end": 12, "word": "Tokyo"},
        {"label": "", "score": 0.25, "start": 0, "end": 0, "word": ""},
    ]
    assert buffers == []
    assert shown(Spans("", []), "spans")[0]["items"] == []


@pytest.mark.parametrize(
    ("text", "items", "said"),
    [
        ("abc", [("A", 1.0, 2, 4)], r'item 0 \("A"\) goes from 2 to 4, expected 0 <= start <= end <= 3'),
        ("abc", [("A", 1.0, 0, 1), ("B", 1.0, 2, 1)], r'item 1 \("B"\) goes from 2 to 1'),
        ("abc", [("A", math.nan, 0, 1)], r'the score of item 0 \("A"\) is NaN'),
        (b"abc", [], "expected the text as a str, got bytes"),
    ],
)
def test_passages_outside_their_text_are_a_sentence(text: Any, items: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Spans(text, items)


# ------------------------------------------------------------------------------------------------ other values


def test_sound_crosses_interleaved() -> None:
    wire, buffers = shown(Audio(np.float32([[1, 2], [3, 4]]) / 8, 8000))
    assert (wire["sample_rate"], wire["channels"]) == (8000, 2)
    assert np.frombuffer(buffers[0], "<f4").tolist() == [1 / 8, 3 / 8, 2 / 8, 4 / 8]


def test_tables_cross_as_text_with_numbers_to_the_right() -> None:
    table = Table(
        ["name", "n", "score", "mixed", "ok"], [["a", 2**60, np.float32(0.1), "1", True], ["b", -1, np.nan, "x", None]]
    )
    wire, _ = shown(table)
    assert wire["rows"] == [["a", "1152921504606846976", "0.1", "1", "true"], ["b", "-1", "NaN", "x", ""]]
    assert wire["align"] == ["left", "right", "right", "left", "left"]
    assert shown({"a": [1], "b": ["x"]}, "table")[0]["rows"] == [["1", "x"]]
    assert shown([{"a": 1}], "table")[0]["columns"] == ["a"]
    assert shown(Table(["a"], []))[0]["align"] == ["left"]


def test_tensors_cross_as_npy_with_a_summary() -> None:
    array = np.arange(6, dtype=np.int64).reshape(2, 3)
    wire, buffers = shown(array)
    assert (wire["dtype"], wire["shape"], wire["text"]) == ("int64", [2, 3], "[[0, 1, 2],\n [3, 4, 5]]")
    np.testing.assert_array_equal(read_npy(buffers[0]), array)
    assert len(shown(np.zeros(10**6))[0]["text"]) < 200
    assert shown(np.array(["a", "bc"], dtype=object))[0]["text"] == "['a', 'bc']"
    assert shown(Narrow(DataType.BFLOAT16, np.float32([1.5])))[0]["dtype"] == "bfloat16"


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3).T,
        np.arange(6)[::-2],
        np.arange(3, dtype=">f4"),
        np.broadcast_to(np.float32(2), (2, 2)),
        np.array(5),
        np.zeros((0, 2)),
    ],
)
def test_arrays_of_any_layout_cross_whole(array: np.ndarray) -> None:
    wire, buffers = shown(array)
    np.testing.assert_array_equal(read_npy(buffers[0]), array)
    assert wire["shape"] == list(array.shape)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("x", "text"),
        (np.float32(1), "json"),
        ([1], "json"),
        ({"a": 1}, "json"),
        (None, "json"),
        (b"x", "json"),
        (3, "json"),
    ],
)
def test_without_an_annotation_the_value_decides(value: Any, kind: str) -> None:
    assert shown(value)[0]["kind"] == kind


def test_none_is_shown_as_null_whatever_was_declared() -> None:
    assert shown(None, "image")[0] == {"kind": "json", "label": "Result", "text": "null"}


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ("x", "image", 'result "Result": expected Image or ndarray, as the annotation says, got str'),
        (3, "text", "expected str, as the annotation says, got int"),
        ([1], "labels", "expected Labels, as the annotation says, got list"),
        (3, "table", "expected Table, a dict of columns or a list of dicts, got int"),
        (np.zeros(3), "audio", "expected Audio, as the annotation says, got ndarray"),
        (np.ma.array([1, 2], mask=[0, 1]), "tensor", "expected a tensor without masked elements"),
        (np.zeros((3, 4, 5)), "image", r'result "Result": Image.from_array: expected .* it looks like \[C, H, W\]'),
    ],
)
def test_a_result_of_another_kind_is_named(value: Any, kind: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        shown(value, kind)
