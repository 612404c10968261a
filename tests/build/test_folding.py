"""Tasks folded into graphs: tensors equal to Python's to the bit, answers equal, and what is not equal is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression

from onnxlet import App, Drawing, Field, Image, InferenceSession, Labels, wire
from onnxlet.tasks import Feature, ImageClassifier, ImageInput, InkInput, TabularPredictor
from onnxlet_build.features import features_of
from onnxlet_build.folding import Unfoldable, fold, fold_app, prove
from onnxlet_build.folding.generated import generated

from .test_tabular import session_of


def linear(shape: tuple[int, ...], classes: int = 6, dtype: int = TensorProto.FLOAT) -> InferenceSession:
    """A model that weighs every cell of its input differently, so that no two cells can be exchanged unseen."""
    rng = np.random.default_rng(1)
    size = int(np.prod(shape[1:]))
    weights = (rng.normal(size=(size, classes)) * 3 / np.sqrt(size)).astype(np.float32)
    nodes = [
        helper.make_node("Cast", ["x"], ["as_float"], to=TensorProto.FLOAT),
        helper.make_node("Flatten", ["as_float"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["y"]),
    ]
    x, y = helper.make_tensor_value_info("x", dtype, shape), helper.make_tensor_value_info("y", 1, [1, classes])
    graph = helper.make_graph(nodes, "g", [x], [y], [onnx.numpy_helper.from_array(weights, "weights")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return InferenceSession(model.SerializeToString())


NORMAL: dict[str, Any] = {"mean": (0.4, 0.5, 0.6), "std": (0.2, 0.3, 0.25)}
INPUTS = [
    ((1, 3, 48, 64), ImageInput((64, 48), "center_crop", method="bicubic", antialias=True, **NORMAL)),
    ((1, 3, 48, 64), ImageInput((64, 48), "letterbox", method="bilinear", bgr=True, **NORMAL)),
    ((1, 48, 48, 3), ImageInput((48, 48), "center_crop", edge=40, layout="NHWC", antialias=True)),
    ((1, 1, 40, 40), ImageInput((40, 40), "stretch", method="lanczos", channels=1, antialias=True, mean=0.5)),
    ((1, 3, 32, 32), ImageInput((32, 32), "stretch", method="nearest", rescale=1.0)),
    ((1, 784), InkInput(layout="flat")),
    ((1, 32, 32, 1), InkInput(32, 24, 10, layout="NHWC")),
]


@pytest.mark.parametrize(("shape", "how"), INPUTS, ids=lambda value: getattr(value, "fit", type(value).__name__))
def test_pictures_of_all_kinds_become_the_very_input_that_python_makes(
    shape: tuple[int, ...], how: ImageInput | InkInput
) -> None:
    classifier = ImageClassifier(linear(shape), image=how)
    kind = Annotated[Drawing, Field(stroke=22)] if isinstance(how, InkInput) else Image
    app = App(classifier.function(picture=kind))
    folded = fold(app.function())
    assert folded is not None
    before = onnxruntime.InferenceSession(folded.pre, providers=["CPUExecutionProvider"])
    compared = 0
    for wires, buffers in generated(app.function(), seed=1):
        (picture,) = wire.decode_inputs(app.function(), wires, buffers).values()
        (got,) = before.run(None, {folded.inputs[0].name: picture.rgba})
        np.testing.assert_array_equal(got, how.tensor(picture))
        compared += 1
    proof = prove(app, app.function(), folded, [])
    assert proof.samples == compared >= 15
    assert proof.max_abs < 1e-12


@pytest.mark.parametrize("dtype", [TensorProto.UINT8, TensorProto.FLOAT16])
def test_models_of_other_types_are_fed_their_own(dtype: int) -> None:
    image = ImageInput((24, 24), "stretch", rescale=1.0, antialias=True)
    app = App(ImageClassifier(linear((1, 3, 24, 24), dtype=dtype), image=image).function())
    folded = fold(app.function())
    assert folded is not None
    assert prove(app, app.function(), folded, []).max_abs < 1e-12


@pytest.mark.parametrize("function", ["softmax", "sigmoid", "none"])
@pytest.mark.parametrize("top_k", [1, None])
def test_scores_are_named_and_ordered_as_python_does(function: Any, top_k: int | None) -> None:
    labels = [f"class {letter}" for letter in "abcdef"]
    image = ImageInput((8, 8), "stretch")
    classifier = ImageClassifier(linear((1, 3, 8, 8)), labels=labels, image=image, function_to_apply=function)
    app = App(classifier.function("Which?", name="which", top_k=top_k, photo=Image))
    assert app.schema()["functions"][0]["name"] == "which"
    folded = fold(app.function())
    assert folded is not None
    assert prove(app, app.function(), folded, []).max_abs < 1e-12


def test_equal_scores_keep_the_order_of_their_classes() -> None:
    image = ImageInput((8, 8), "stretch", std=1e30)  # all logits are nearly 0, and their shares equal
    app = App(ImageClassifier(linear((1, 3, 8, 8)), image=image).function())
    folded = fold(app.function())
    assert folded is not None
    prove(app, app.function(), folded, [])


def test_rows_of_numbers_and_choices_become_features_and_shares_names() -> None:
    iris = load_iris(as_frame=True)
    forest = RandomForestClassifier(5, random_state=0).fit(iris.data.to_numpy(), iris.target)
    for labels in (["setosa", "versicolor", "virginica"], None):
        predictor = TabularPredictor(session_of(forest), features=features_of(iris.data), labels=labels)
        for shown in (None, ["petal length (cm)", "sepal width (cm)"]):
            app = App(*predictor.functions(shown=shown))
            folded = fold(app.function())
            assert folded is not None
            assert len(folded.inputs) == len(shown or iris.data.columns)
            assert prove(app, app.function(), folded, []).samples >= 20


def named_inputs(text: bool) -> InferenceSession:
    """A model with an input a feature, one of them a text where `text`; gives a float32 number."""
    kinds = {"size": TensorProto.STRING if text else TensorProto.FLOAT, "age": TensorProto.INT64}
    inputs = [helper.make_tensor_value_info(name, kind, ["n", 1]) for name, kind in kinds.items()]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])
    large = onnx.numpy_helper.from_array(np.array(["L"], object), "large")
    tenth = onnx.numpy_helper.from_array(np.array([0.1], np.float32), "tenth")
    nodes = [
        *([helper.make_node("Equal", ["size", "large"], ["is_large"])] if text else []),
        helper.make_node("Cast", ["is_large" if text else "size"], ["s"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["age"], ["aged"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["aged", "tenth"], ["a"]),
        helper.make_node("Add", ["s", "a"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "g", inputs, [y], [large, tenth] if text else [tenth])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    return InferenceSession(model.SerializeToString())


@pytest.mark.parametrize("text", [True, False])
def test_a_number_has_the_digits_that_python_gives_it(text: bool) -> None:
    size = Feature("size", choices=("S", "M", "L"), default="L") if text else Feature("size", -1e6, 1e6)
    predictor = TabularPredictor(named_inputs(text), features=[size, Feature("age", -5, 120, 30, integer=True)])
    app = App(*predictor.functions())
    folded = fold(app.function())
    assert folded is not None
    assert folded.post is None, "its output is shown as it is"
    assert prove(app, app.function(), folded, []).samples >= 20


def test_own_code_is_never_taken_for_a_task() -> None:
    classifier = ImageClassifier(linear((1, 3, 8, 8)), image=ImageInput((8, 8), "stretch"))

    def classify(image: Image) -> Labels:
        return classifier(image.flip())

    class Mirrored(ImageClassifier):
        def __call__(self, image: Image, top_k: int | None = 5) -> Labels:
            return super().__call__(image.flip(), top_k)

    assert fold(App(classify).function()) is None
    mirrored = Mirrored(linear((1, 3, 8, 8)), image=ImageInput((8, 8), "stretch"))
    with pytest.raises(Unfoldable, match="Mirrored is not folded"):
        fold(App(mirrored.function()).function())


def test_what_cannot_be_folded_waits_with_a_reason(tmp_path: Path) -> None:
    image = ImageInput((8, 8), "shortest_edge")
    app = App(ImageClassifier(linear((1, 3, 8, 8)), image=image).function())
    told = fold_app(app, {}, tmp_path)
    assert told == {"classify": {"waits": 'fit "shortest_edge" makes inputs of many sizes'}}
    line = LinearRegression().fit([[0.0, 1], [1, 1], [2, 3]], [[0, 0], [1, 2], [2, 4]])
    predictor = TabularPredictor(session_of(line), features=[Feature("a"), Feature("b")])
    with pytest.raises(Unfoldable, match="one number is a row's"):
        fold(App(*predictor.functions()).function())


def test_graphs_that_say_something_else_are_refused() -> None:
    image = ImageInput((16, 16), "center_crop", antialias=True)
    app, other = (
        App(ImageClassifier(linear((1, 3, 16, 16)), image=how).function()) for how in (image, replace(image, bgr=True))
    )
    wrong = fold(other.function())
    assert wrong is not None
    with pytest.raises(Unfoldable, match=r"generated input 1: gives .*, and Python|scores differ by up to"):
        prove(app, app.function(), wrong, [])
    with pytest.raises(Unfoldable, match="generated input 1: the graphs fail"):
        prove(app, app.function(), replace(wrong, fetches=("nothing",)), [])
