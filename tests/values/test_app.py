"""An app's signature becomes a form, and its examples become inputs."""

import asyncio
import enum
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Union

import numpy as np
import pytest

from onnxlet import App, InvalidInput, ModelCard
from onnxlet.form import read_function
from onnxlet.values import (
    Audio,
    Boxes,
    Choice,
    Drawing,
    Field,
    File,
    Image,
    Json,
    Labels,
    Mask,
    Number,
    Spans,
    Table,
    Tensor,
    Text,
)

DATA = Path(__file__).parents[1] / "data"


class Mode(enum.Enum):
    FAST = "fast"
    GOOD = "good"


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


def one(annotation: Any, default: Any = ...) -> dict[str, Any]:
    """The schema of a parameter with this annotation."""

    def f(x):  # type: ignore[no-untyped-def]
        pass

    f.__annotations__ = {"x": annotation}
    if default is not ...:
        f.__defaults__ = (default,)
    schema = read_function(f).schema()
    json.dumps(schema, allow_nan=False)
    return schema["inputs"][0]  # type: ignore[no-any-return]


DRAWING = {"width": 280, "height": 280, "stroke": 20, "ink": 255, "paper": 0}


@pytest.mark.parametrize(
    ("annotation", "kind", "options"),
    [
        (Image, "image", {}),
        (Drawing, "drawing", DRAWING),
        (Annotated[Drawing, Field(width=64, height=32)], "drawing", {**DRAWING, "width": 64, "height": 32}),
        (Annotated[Image, Field(sources=["camera"])], "image", {"sources": ["camera"]}),
        (str, "text", {}),
        (Text, "text", {}),
        (Annotated[str, Text(lines=3, placeholder="...")], "text", {"lines": 3, "placeholder": "..."}),
        (list[float], "text", {"format": "json", "lines": 4}),
        (tuple[int, ...], "text", {"format": "json", "lines": 4}),
        (dict, "text", {"format": "json", "lines": 4}),
        (int, "number", {"integer": True}),
        (float, "number", {"integer": False}),
        (Number, "number", {"integer": False}),
        (Number(min=0), "number", {"integer": False, "min": 0}),
        (
            Annotated[int, Number(min=0, max=9, step=3)],
            "number",
            {"integer": True, "min": 0, "max": 9, "step": 3, "slider": True},
        ),
        (Annotated[float, Number(max=1, slider=False)], "number", {"integer": False, "max": 1, "slider": False}),
        (bool, "toggle", {}),
        (Literal["a", "b"], "choice", {"choices": ["a", "b"]}),
        (Literal[1, "x", True], "choice", {"choices": ["1", "x", "True"]}),
        (Mode, "choice", {"choices": ["fast", "good"]}),
        (Level, "choice", {"choices": ["LOW", "HIGH"]}),
        (Annotated[str, Choice("a", "b")], "choice", {"choices": ["a", "b"]}),
        (Choice(["a", "b"]), "choice", {"choices": ["a", "b"]}),
        (bytes, "file", {}),
        (Annotated[File, Field(accept=".bin", max_bytes=9)], "file", {"accept": ".bin", "max_bytes": 9}),
        (Annotated[Audio, Field(sample_rate=16000)], "audio", {"sample_rate": 16000}),
        (Annotated[Table, Field(columns=["a"])], "table", {"columns": ["a"]}),
        (Tensor, "tensor", {}),
        (np.ndarray, "tensor", {}),
        (
            Annotated[np.ndarray, Tensor(dtype="float32", shape=(None, 4))],
            "tensor",
            {"dtype": "float32", "shape": [None, 4]},
        ),
    ],
)
def test_an_annotation_says_what_is_asked_for(annotation: Any, kind: str, options: dict[str, Any]) -> None:
    schema = one(annotation)
    assert (schema["kind"], schema["options"]) == (kind, options)
    assert schema["required"] is True
    assert schema["label"] == "X"


@pytest.mark.parametrize(
    "annotation",
    [
        Optional[Image],  # noqa: UP045
        Image | None,
        Union[None, Image],  # noqa: UP007
        Annotated[Image | None, Field(label="X")],
        Annotated[Image, 1] | None,
    ],
)
def test_optional_is_not_required(annotation: Any) -> None:
    schema = one(annotation)
    assert (schema["kind"], schema["required"], schema["default"]) == ("image", False, None)


@pytest.mark.parametrize(
    ("annotation", "default", "shown"),
    [
        (int, 3, 3),
        (int, 2**60, str(2**60)),
        (float, 0.5, 0.5),
        (str, "", ""),
        (bool, False, False),
        (Mode, Mode.GOOD, "good"),
        (Literal[1, 2], 2, "2"),
        (Image, None, None),
        (str | None, None, None),
    ],
)
def test_defaults_are_shown_where_the_form_can_show_them(annotation: Any, default: Any, shown: Any) -> None:
    schema = one(annotation, default)
    assert (schema["required"], schema["default"]) == (False, shown)


def test_labels_ride_along() -> None:
    assert one(Annotated[float, Number(label="How much?")])["label"] == "How much?"


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (complex, 'f: parameter "x": unknown annotation complex; known are Image, Drawing, Text'),
        (set[int], r"unknown annotation set\[int\]; known are"),
        (int | str, r"unknown annotation int \| str; known are"),
        (Labels, "unknown annotation Labels; known are"),
        ("NotThere", "name 'NotThere' is not defined; an annotation cannot be read; known are Image"),
        (Annotated[Image, Number(min=0)], r"Number\(...\) describes number, and the annotation is image"),
        (Annotated[Image, Field(frame_px=0)], "expected frame_px above 0, got 0"),
        (Annotated[Image, Field(width=3)], "image has no option width; it has sources, frame_px, label"),
        (
            Annotated[Drawing, Field(colour=3)],
            "drawing has no option colour; it has width, height, stroke, ink, paper, label",
        ),
        (Choice, "expected choices, all different"),
        (Annotated[str, Choice("a", "a")], "expected choices, all different"),
        (Literal[1, "1"], "two choices have the same text"),
    ],
)
def test_an_annotation_that_makes_no_form_is_an_error_that_says_what_is_known(annotation: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        one(annotation)


def test_other_declarations_that_make_no_form_are_named() -> None:
    def bare(x) -> str:  # type: ignore[no-untyped-def]
        return ""

    def star(*xs: int) -> str:
        return ""

    with pytest.raises(InvalidInput, match='bare: parameter "x": expected an annotation, got none; known are Image'):
        App(bare)
    with pytest.raises(InvalidInput, match=r'star: parameter "xs": \* and \*\* make no form'):
        App(star)
    with pytest.raises(InvalidInput, match="expected at least one function"):
        App()
    with pytest.raises(InvalidInput, match="expected functions, got str"):
        App("f")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match='two functions are named "<lambda>"'):
        App(lambda: 1, lambda: 2)
    with pytest.raises(InvalidInput, match="expected min <= max"):
        Number(min=2, max=1)
    with pytest.raises(InvalidInput, match="a slider needs min and max"):
        Number(slider=True)
    with pytest.raises(InvalidInput, match=r"default 5 is outside 0 .. 3"):
        one(Annotated[int, Number(min=0, max=3)], 5)
    with pytest.raises(InvalidInput, match="default 'c' is none of a, b"):
        one(Literal["a", "b"], "c")


@pytest.mark.parametrize(
    ("annotation", "kinds"),
    [
        (Labels, ["labels"]),
        (Image, ["image"]),
        (Boxes, ["boxes"]),
        (Mask, ["mask"]),
        (Spans, ["spans"]),
        (str, ["text"]),
        (Table, ["table"]),
        (Audio, ["audio"]),
        (Json, ["json"]),
        (np.ndarray, ["tensor"]),
        (tuple[Labels, Image, float], ["labels", "image", "json"]),
        (tuple[float, ...], ["json"]),
        (dict[str, int], ["json"]),
        (Labels | None, ["labels"]),
        (Labels | str, ["auto"]),
        (Any, ["auto"]),
        (None, []),
        (..., ["auto"]),
    ],
)
def test_the_return_annotation_says_what_is_shown(annotation: Any, kinds: list[str]) -> None:
    def f() -> None:
        pass

    f.__annotations__ = {} if annotation is ... else {"return": annotation}
    assert [output.kind for output in read_function(f).outputs] == kinds


def classify(drawing: Drawing, top: Annotated[int, Number(min=1, max=9)] = 3) -> Labels:
    """Which digit is this?

    More words.
    """
    return Labels.from_scores(np.arange(10) * drawing.width, "0123456789", top)


async def shout(text: str, *, mark: Literal["!", "?"] = "!") -> str:
    await asyncio.sleep(0)
    return text.upper() + mark


def test_the_schema_holds_all_that_the_page_needs() -> None:
    schema = App(classify, shout, live=True).schema()
    assert json.loads(json.dumps(schema)) == schema
    assert schema["title"] == "Classify"
    assert schema["live"] is True
    first, second = schema["functions"]
    assert (first["name"], first["title"], first["async"]) == ("classify", "Classify", False)
    assert first["doc"] == "Which digit is this?\n\nMore words."
    assert first["outputs"] == [{"label": "Labels", "kind": "labels", "options": {}}]
    assert second["async"] is True
    assert first["live"] is second["live"] is True
    one = App(classify, shout, live=["shout"]).schema()
    assert [one["live"], *(function["live"] for function in one["functions"])] == [True, False, True]
    with pytest.raises(InvalidInput, match='no function "sing"'):
        App(classify, live=["sing"])
    assert second["inputs"][1]["default"] == "!"


def test_an_app_is_its_first_function_and_has_the_others_by_name() -> None:
    app = App(classify, shout)
    assert app(Drawing(np.zeros((2, 2), np.uint8)), top=1).items == [("9", 18.0)]
    assert asyncio.run(app["shout"]("hi", mark="?")) == "HI?"
    with pytest.raises(InvalidInput, match='no function "x"; it has classify, shout'):
        app["x"]


def test_functions_of_both_colours_are_called_by_name_or_in_order() -> None:
    app = App(classify, shout)
    assert asyncio.run(app.acall("shout", {"text": "a", "mark": "?"})) == "A?"
    assert asyncio.run(app.acall("shout", ["b"])) == "B!"
    assert asyncio.run(app.acall("classify", [Drawing(np.zeros((2, 2), np.uint8)), 1])).best == "9"
    with pytest.raises(InvalidInput, match='shout: no parameter "loud"; it has text, mark'):
        asyncio.run(app.acall("shout", {"loud": 1}))
    with pytest.raises(InvalidInput, match="shout: expected at most 2 values, got 3"):
        asyncio.run(app.acall("shout", [1, 2, 3]))


def test_a_value_left_out_in_the_middle_keeps_its_default() -> None:
    def f(a: int = 1, b: int = 2, c: int = 3) -> list[int]:
        return [a, b, c]

    assert asyncio.run(App(f).acall("f", {"a": 9, "c": 7})) == [9, 2, 7]


def test_annotations_written_as_text_are_read_too() -> None:
    """As `from __future__ import annotations` leaves them."""

    def f(x: "Annotated[int, Number(min=0)]", y: "Image | None" = None) -> "tuple[Labels, str]":
        return Labels({}), ""

    schema = App(f).schema()["functions"][0]
    assert [i["kind"] for i in schema["inputs"]] == ["number", "image"]
    assert [o["kind"] for o in schema["outputs"]] == ["labels", "text"]


def test_objects_and_methods_can_be_functions_too() -> None:
    class Model:
        def __call__(self, x: int) -> int:
            return x + 1

        async def double(self, x: int) -> int:
            return 2 * x

    model = Model()
    app = App(model, model.double)
    assert [f.name for f in app.functions.values()] == ["Model", "double"]
    assert asyncio.run(app.acall("Model", [1])) == 2
    assert asyncio.run(app.acall("double", [4])) == 8
    assert app.schema()["functions"][1]["async"] is True


# ---------------------------------------------------------------------------------------------------- examples


def everything(
    image: Image, sound: Audio, table: Table, tensor: np.ndarray, raw: bytes, file: File, mode: Mode, n: int = 1
) -> str:
    return ""


def test_examples_open_their_files_beside_the_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "О'Браєн ☃ 100%"
    folder.mkdir()
    for name in ("I02_alpha.png", "A01_u8.wav"):
        (folder / name).write_bytes((DATA / name).read_bytes())
    (folder / "t.csv").write_text("a,b\n1,2\n")
    np.save(folder / "x.npy", np.arange(3))
    app = App(
        everything,
        examples=[("I02_alpha.png", "A01_u8.wav", "t.csv", "x.npy", "t.csv", Path("t.csv"), "good")],
    )
    app.folder = folder
    monkeypatch.chdir("/")
    (example,) = app.examples
    values = app.load(example)
    assert values["image"].size == (12, 8)
    assert values["sound"].sample_rate_hz == 16000
    assert values["table"].columns == ["a", "b"]
    assert values["tensor"].tolist() == [0, 1, 2]
    assert values["raw"] == b"a,b\n1,2\n"
    assert values["file"] == File(b"a,b\n1,2\n", "t.csv")
    assert values["mode"] is Mode.GOOD
    assert "n" not in values


def test_the_folder_is_the_app_files() -> None:
    assert App(classify).folder == Path(__file__).parent


@pytest.mark.parametrize(
    ("examples", "values"),
    [
        (["a.png"], {"drawing": "a.png"}),
        ([("a.png", 2)], {"drawing": "a.png", "top": 2}),
        ([["a.png", 2]], {"drawing": "a.png", "top": 2}),
        ([{"top": 2, "drawing": "a.png"}], {"top": 2, "drawing": "a.png"}),
        ({"classify": ["a.png"]}, {"drawing": "a.png"}),
    ],
)
def test_examples_are_given_in_three_ways(examples: Any, values: dict[str, Any]) -> None:
    (example,) = App(classify, examples=examples).examples
    assert (example.function, dict(example.values)) == ("classify", values)
    assert "a.png" in example.label


def test_an_example_may_have_a_label_of_its_own() -> None:
    app = App(
        shout, classify, examples={"shout": {"a greeting": "hi", "two words": ("ho", "?")}, "classify": ["a.png"]}
    )
    assert [e.label for e in app.examples] == ["a greeting", "two words", "a.png"]
    assert [dict(e.values) for e in app.examples][:2] == [{"text": "hi"}, {"text": "ho", "mark": "?"}]


def test_examples_of_several_functions_are_told_apart() -> None:
    app = App(classify, shout, examples={"shout": ["hi", ("ho", "?")], "classify": ["a.png"]})
    assert [(e.function, e.label) for e in app.examples] == [("shout", "hi"), ("shout", "ho, ?"), ("classify", "a.png")]


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([("a.png", 2, 3)], "example 1: classify: expected at most 2 values, got 3"),
        ([{"x": 1}], 'example 1: classify: no parameter "x"; it has drawing, top'),
        (["a.png", {"top": 1}], 'example 2 of classify: no value for "drawing"'),
        ({"other": []}, 'no function "other"; it has classify'),
        ("a.png", "expected examples as a list, got str"),
    ],
)
def test_an_example_that_fits_no_form_is_named(examples: Any, message: str) -> None:
    make: Callable[[], App] = lambda: App(classify, examples=examples)  # noqa: E731
    with pytest.raises(InvalidInput, match=message):
        make()


def test_a_missing_example_file_is_named_with_its_folder() -> None:
    app = App(classify, examples=["not-there.png"])
    with pytest.raises(
        InvalidInput, match=r'example value of "drawing": .*not-there.png.*paths are relative to .*values'
    ):
        app.load(app.examples[0])


def test_a_card_tells_where_a_model_comes_from() -> None:
    card = ModelCard("Tiny", source="own work", licence="CC0-1.0", limits="letters")
    said = {"name": "Tiny", "source": "own work", "licence": "CC0-1.0", "trained_on": "", "limits": "letters"}
    assert App(shout, card=card).schema()["cards"] == [said]
    assert len(App(shout, card=[card, card]).schema()["cards"]) == 2
    assert App(shout).schema()["cards"] == []
    with pytest.raises(InvalidInput, match="licence is empty"):
        ModelCard("Tiny", source="own work", licence=" ")
    with pytest.raises(InvalidInput, match="card as a ModelCard or a list of them, got dict"):
        App(shout, card=[{"name": "Tiny"}])
