"""Pictures classified, segmented, cut out and made into others, by small networks whose answers are known."""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto as T
from onnx import helper as h
from onnx.numpy_helper import from_array

from onnxlet import Image, InferenceSession
from onnxlet.errors import InvalidInput
from onnxlet.tasks import BackgroundRemover, Frame, ImageClassifier, ImageInput, ImageSegmenter, ImageToImage

RNG = np.random.default_rng(7)
PHOTO = Image(RNG.integers(0, 256, (37, 53, 3), np.uint8).repeat(3, 0).repeat(3, 1))  # 159 x 111, patches of 3 x 3

Shape = Sequence[int | str]


def network(
    nodes: Sequence[onnx.NodeProto],
    x: Shape,
    y: Shape,
    *,
    constants: dict[str, Any] | None = None,
    metadata: dict[str, str] | None = None,
    kind: int = T.FLOAT,
    gives: int = T.FLOAT,
) -> InferenceSession:
    """A session of a graph from "x" to "y"."""
    graph = h.make_graph(
        list(nodes),
        "g",
        [h.make_tensor_value_info("x", kind, x)],
        [h.make_tensor_value_info("y", gives, y)],
        [from_array(np.asarray(value), name) for name, value in (constants or {}).items()],
    )
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8)
    h.set_model_props(model, metadata or {})
    return InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def node(op: str, *inputs: str, out: str = "y", **attributes: Any) -> onnx.NodeProto:
    return h.make_node(op, list(inputs), [out], **attributes)


def mean_colour(layout: str = "NCHW", kind: int = T.FLOAT, **options: Any) -> InferenceSession:
    """Three classes, whose logits are the mean of the three channels."""
    shape: Shape = [1, 3, 8, 8] if layout == "NCHW" else [1, 8, 8, 3]
    nodes = [
        node("Cast", "x", out="wide", to=T.FLOAT),
        node("ReduceMean", "wide", "axes", keepdims=0),
    ]
    axes = np.array([2, 3] if layout == "NCHW" else [1, 2])
    return network(nodes, shape, [1, 3], constants={"axes": axes}, kind=kind, **options)


def plain(level: Sequence[int], width: int = 20, height: int = 10) -> Image:
    return Image(np.broadcast_to(np.array(level, np.uint8), (height, width, 3)).copy())


# ------------------------------------------------------------------------------------------------- preprocessing


@pytest.mark.parametrize(("name", "module"), [("ViT", "vit"), ("CLIP", "clip"), ("ConvNext", "convnext")])
@pytest.mark.parametrize("size", [(300, 451), (451, 300), (64, 48), (256, 256), (40, 1000)])
def test_a_configuration_prepares_pictures_as_transformers_does(name: str, module: str, size: tuple[int, int]) -> None:
    imported = __import__(f"transformers.models.{module}.image_processing_pil_{module}", fromlist=[""])
    processor = getattr(imported, f"{name}ImageProcessorPil")()
    photo = PHOTO.resize(*size)
    expected = processor(photo.array, return_tensors="np")["pixel_values"]
    got, _ = ImageInput.from_config(processor.to_dict()).prepare(photo)
    # Odd margins are halved as torchvision halves them, which transformers does on its usual backend but not here:
    # then the cut-outs lie a pixel apart, and the larger one has the smaller in it.
    assert got.shape == expected.shape
    rows, columns = ((slice(1, None), slice(None, -1)), (slice(None), slice(None)))
    same = [
        np.abs(got[:, :, a, c] - expected[:, :, b, d]).max()
        for a, b in ((columns[0], columns[0]), rows)
        for c, d in ((columns[0], columns[0]), rows)
    ]
    assert min(same) < 0.02  # of about 4, black to white: a level is 0.015


@pytest.mark.parametrize("size", [(451, 300), (300, 450), (259, 301), (90, 70), (1, 1), (500, 3)])
def test_a_centre_crop_is_cut_out_as_torchvision_does(size: tuple[int, int]) -> None:
    """Its Resize(256) and CenterCrop(224), by its formulas, on Pillow's pixels."""
    photo = PHOTO.resize(*size)
    width, height = size
    scaled = (256, int(256 * height / width)) if width <= height else (int(256 * width / height), 256)
    left, top = (round((side - 224) / 2.0) for side in scaled)
    expected = photo.resize(*scaled).array[top : top + 224, left : left + 224] / 255
    got, frame = ImageInput((224, 224), "center_crop", edge=256, antialias=True).prepare(photo)
    np.testing.assert_allclose(got[0].transpose(1, 2, 0), expected, atol=1e-6)
    assert frame == Frame(size, scaled, (-left, -top))


def test_a_picture_that_is_smaller_than_the_cut_gets_black_margins() -> None:
    got, frame = ImageInput((7, 7), "center_crop", edge=4).prepare(plain([255, 255, 255], 4, 4))
    assert frame.offset == (1, 1)
    np.testing.assert_array_equal(got[0, 0].sum(1), [0, 4, 4, 4, 4, 0, 0])


def test_a_picture_that_is_too_long_is_refused_before_it_fills_the_memory() -> None:
    strip = Image(np.zeros((1, 60_000), np.uint8))
    with pytest.raises(InvalidInput, match="60000 x 1 pixels would be scaled to 15360000 x 256; crop it"):
        ImageInput((224, 224), "center_crop", edge=256).prepare(strip)


def test_sides_are_rounded_to_a_multiple_and_never_enlarged() -> None:
    inside = ImageInput((960, 960), "inside", multiple=32)
    sizes = {(384, 191): (384, 192), (2000, 1000): (960, 480), (1, 1): (32, 32), (3000, 10): (960, 32)}
    for size, scaled in sizes.items():
        assert inside.frame(Image(np.zeros(size[::-1], np.uint8))).scaled == scaled


def test_channels_are_last_for_tensorflow_and_one_for_grey() -> None:
    last, _ = ImageInput((6, 4), "stretch", layout="NHWC", mean=[0.1, 0.2, 0.3]).prepare(PHOTO)
    first, _ = ImageInput((6, 4), "stretch", mean=[0.1, 0.2, 0.3]).prepare(PHOTO)
    assert last.shape == (1, 4, 6, 3)
    np.testing.assert_array_equal(last.transpose(0, 3, 1, 2), first)
    grey, _ = ImageInput((6, 4), "stretch", channels=1).prepare(PHOTO)
    expected = PHOTO.gray().resize(6, 4, antialias=False).array / 255
    np.testing.assert_allclose(grey[0, 0], expected, rtol=1e-6)


def test_configurations_that_nobody_can_follow_say_what_is_missing() -> None:
    config = {"size": {"height": 256, "width": 256}, "crop_size": 224, "do_center_crop": True}
    with pytest.raises(InvalidInput, match="expected shortest_edge, since a crop follows; give image=ImageInput"):
        ImageInput.from_config(config)


# ------------------------------------------------------------------------------------------------- classification


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("kind", [T.FLOAT, T.UINT8, T.FLOAT16])
def test_a_classifier_takes_what_its_model_wants(layout: str, kind: int) -> None:
    labels = ["red", "green", "blue"]
    classify = ImageClassifier(mean_colour(layout, kind), labels=labels)
    for number, label in enumerate(labels):
        level = [20, 20, 20]
        level[number] = 230
        found = classify(plain(level))
        assert found.best == label
        assert sum(score for _, score in found.items) == pytest.approx(1)
        assert asyncio.run(classify.acall(plain(level))) == found
    assert len(classify(plain([1, 2, 3]), top_k=2).items) == 2


def test_scores_are_as_the_function_says() -> None:
    image = ImageInput((8, 8), "stretch")
    logits = np.array([255, 51, 0]) / 255
    sigmoid = dict(ImageClassifier(mean_colour(), image=image, function_to_apply="sigmoid")(plain([255, 51, 0])).items)
    assert list(sigmoid.values()) == pytest.approx(1 / (1 + np.exp(-logits)))
    none = dict(ImageClassifier(mean_colour(), image=image, function_to_apply="none")(plain([255, 51, 0])).items)
    assert list(none.values()) == pytest.approx(logits)
    with pytest.raises(InvalidInput, match="function_to_apply is 'relu', expected"):
        ImageClassifier(mean_colour(), function_to_apply="relu")  # type: ignore[arg-type]


def test_labels_come_from_the_metadata_and_must_be_as_many_as_the_classes() -> None:
    told = mean_colour(metadata={"names": "{0: 'rouge', 1: 'vert', 2: 'bleu'}"})
    assert ImageClassifier(told)(plain([9, 200, 9])).best == "vert"
    assert ImageClassifier(mean_colour())(plain([9, 200, 9])).best == "1"
    with pytest.raises(InvalidInput, match="got 2 labels for 3 classes"):
        ImageClassifier(told, labels=["a", "b"])


def test_scores_that_are_nan_are_an_error_as_is_an_input_that_is_no_picture() -> None:
    nan = network(
        [node("Mul", "x", "nan", out="z"), node("ReduceMean", "z", "axes", keepdims=0)],
        [1, 3, 4, 4],
        [1, 3],
        constants={"nan": np.float32(np.nan), "axes": np.array([2, 3])},
    )
    with pytest.raises(InvalidInput, match="score 0 is NaN"):
        ImageClassifier(nan)(plain([1, 2, 3]))
    with pytest.raises(InvalidInput, match=r'input "x" is \[1, 10\], expected a picture'):
        ImageClassifier(network([node("Relu", "x")], [1, 10], [1, 10]))


# --------------------------------------------------------------------------------------------------- segmentation


def one_by_one(weights: np.ndarray, side: int, after: str = "NCHW") -> InferenceSession:
    """A 1 x 1 convolution over 0 to 1, and a mean of 2 x 2, to maps half as large."""
    classes = len(weights)
    half = side // 2
    shapes = {"NCHW": [1, classes, half, half], "NHWC": [1, half, half, classes], "CHW": [classes, half, half]}
    nodes = [node("Conv", "x", "w", out="a"), node("AveragePool", "a", out="b", kernel_shape=[2, 2], strides=[2, 2])]
    last = {
        "NCHW": node("Identity", "b"),
        "NHWC": node("Transpose", "b", perm=[0, 2, 3, 1]),
        "CHW": node("Reshape", "b", "shape"),
    }[after]
    constants = {"w": weights.astype(np.float32)[:, :, None, None], "shape": np.array(shapes["CHW"])}
    return network([*nodes, last], [1, 3, side, side], shapes[after], constants=constants)


def maps(weights: np.ndarray, photo: Image, side: int) -> torch.Tensor:
    """The same in PyTorch, at the photo's size."""
    x = torch.from_numpy(photo.resize(side, side).array / np.float32(255)).permute(2, 0, 1)[None]
    small = torch.nn.functional.avg_pool2d(torch.einsum("oc,nchw->nohw", torch.from_numpy(weights).float(), x), 2)
    return torch.nn.functional.interpolate(small, size=photo.size[::-1], mode="bilinear", align_corners=False)[0]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "CHW"])
def test_one_channel_is_a_mask_at_the_size_of_the_picture(layout: str) -> None:
    weights = np.array([[0.2, 0.3, 0.5]])
    (found,) = ImageSegmenter(one_by_one(weights, 32, layout), labels=["bright"])(PHOTO)
    expected = maps(weights, PHOTO, 32)[0].numpy()
    assert found.label == "bright"
    assert found.mask.array.shape == (111, 159)
    np.testing.assert_allclose(found.mask.array, expected * 255, atol=0.51)
    assert found.score == pytest.approx(expected[expected > 0.5].mean(), abs=1e-4)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_every_pixel_goes_to_its_likeliest_class(layout: str) -> None:
    weights = RNG.normal(size=(4, 3)) * 5
    found = ImageSegmenter(one_by_one(weights, 32, layout), labels=list("abcd"))(PHOTO)
    expected = maps(weights, PHOTO, 32)
    chosen, shares = expected.argmax(0).numpy(), expected.softmax(0).numpy()
    sizes = [int((segment.mask.array > 0).sum()) for segment in found]
    assert sizes == sorted(sizes, reverse=True)
    assert {segment.label for segment in found} == {"abcd"[i] for i in np.unique(chosen)}
    for segment in found:
        number = "abcd".index(segment.label)
        inside = segment.mask.array > 0
        assert (inside != (chosen == number)).mean() < 0.001  # ties of rounding
        assert segment.score == pytest.approx(shares[number][chosen == number].mean(), abs=1e-3)


def test_a_mask_lies_where_the_picture_lay_in_the_input() -> None:
    pixels = np.zeros((60, 120, 3), np.uint8)
    pixels[20:40, 40:60] = 255
    for fit in ("letterbox", "center_crop", "stretch"):
        image = ImageInput((64, 64), fit, margin=0, antialias=True)
        (found,) = ImageSegmenter(one_by_one(np.full((1, 3), 1 / 3), 64), image=image)(Image(pixels))
        rows, columns = np.nonzero(found.mask.array > 127)
        spans = [rows.min(), rows.max() + 1, columns.min(), columns.max() + 1]
        np.testing.assert_allclose(spans, [20, 40, 40, 60], atol=3)


def test_classes_that_the_model_has_chosen_keep_their_numbers() -> None:
    nodes = [node("ArgMax", "x", axis=1, keepdims=0)]
    session = network(nodes, [1, 3, 16, 16], [1, 16, 16], gives=T.INT64)
    pixels = np.zeros((32, 32, 3), np.uint8)
    pixels[:, :8, 2] = pixels[:, 8:, 1] = 255
    found = ImageSegmenter(session)(Image(pixels))
    assert [(segment.label, segment.score) for segment in found] == [("1", 1.0), ("2", 1.0)]
    np.testing.assert_array_equal(found[1].mask.array > 0, pixels[:, :, 2] > 0)


def test_logits_of_one_channel_need_a_sigmoid_and_nan_is_an_error() -> None:
    session = one_by_one(np.array([[9.0, 0, 0]]), 16)
    with pytest.raises(InvalidInput, match=r'mask goes from .* to .*, expected 0 to 1; .*function_to_apply="sigmoid"'):
        ImageSegmenter(session)(PHOTO)
    (found,) = ImageSegmenter(session, function_to_apply="sigmoid")(PHOTO)
    assert found.mask.array.min() >= 127
    with pytest.raises(InvalidInput, match='output "y" holds NaN'):
        ImageSegmenter(one_by_one(np.array([[np.nan, 0, 0]]), 16))(PHOTO)


@pytest.mark.parametrize("size", [(1, 1), (1, 900), (2500, 1), (3000, 2000)])
def test_pictures_of_any_size_get_masks_of_theirs(size: tuple[int, int]) -> None:
    photo = Image(np.full((size[1], size[0], 3), 255, np.uint8))
    (found,) = ImageSegmenter(one_by_one(np.array([[0.5, 0.2, 0.3]]), 16))(photo)
    assert found.mask.array.shape == size[::-1]
    assert set(np.unique(found.mask.array)) == {255}


# --------------------------------------------------------------------------------------------- background removal


def test_what_is_in_front_keeps_its_pixels_and_gets_an_alpha() -> None:
    remove = BackgroundRemover(one_by_one(np.array([[1.0, 0, 0]]), 32))
    cut = remove(PHOTO)
    np.testing.assert_array_equal(cut.rgba[:, :, :3], PHOTO.array)
    np.testing.assert_allclose(cut.alpha, maps(np.array([[1.0, 0, 0]]), PHOTO, 32)[0].numpy() * 255, atol=0.51)
    np.testing.assert_array_equal(asyncio.run(remove.acall(PHOTO)).rgba, cut.rgba)
    share = cut.alpha[..., None] / 255
    expected = PHOTO.array * share + np.array([0, 128, 255]) * (1 - share)
    for color in ("#0080ff", (0, 128, 255)):
        np.testing.assert_allclose(remove(PHOTO, color).array, expected, atol=0.51)
    with pytest.raises(InvalidInput, match='expected a color as "#rrggbb"'):
        remove(PHOTO, "blue")


def test_what_was_transparent_stays_transparent() -> None:
    rgba = np.full((40, 40, 4), 255, np.uint8)
    rgba[:20, :, 3] = 0
    cut = BackgroundRemover(one_by_one(np.array([[1.0, 0, 0]]), 16))(Image(rgba))
    np.testing.assert_array_equal(cut.alpha, rgba[:, :, 3])


def test_of_two_channels_the_second_is_in_front_and_more_are_no_background() -> None:
    weights = np.array([[-4.0, 0, 0], [4, 0, 0]])
    cut = BackgroundRemover(one_by_one(weights, 16))(plain([255, 0, 0]))
    assert set(np.unique(cut.alpha)) == {round(255 / (1 + np.exp(-8)))}
    with pytest.raises(InvalidInput, match="gives 3 channels of float32, expected one, or background and foreground"):
        BackgroundRemover(one_by_one(RNG.normal(size=(3, 3)), 16))(PHOTO)


# -------------------------------------------------------------------------------------------------- image to image


def doubled(layout: str, shape: Shape) -> InferenceSession:
    scales = np.array([1, 1, 2, 2] if layout == "NCHW" else [1, 2, 2, 1], np.float32)
    open_shape = [1, *(3 if side == 3 else "n" for side in shape[1:])]
    nodes = [node("Resize", "x", "", "scales", mode="nearest")]
    return network(nodes, shape, open_shape, constants={"scales": scales})


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize(
    "levels", [{}, {"rescale": 1.0}, {"mean": 0.5, "std": 0.5}, {"mean": [0.1, 0.2, 0.3], "bgr": True}]
)
def test_a_picture_comes_out_at_the_models_size_with_its_levels(layout: str, levels: dict[str, Any]) -> None:
    session = doubled(layout, [1, 3, "h", "w"] if layout == "NCHW" else [1, "h", "w", 3])
    enlarge = ImageToImage(session, image=ImageInput((1024, 1024), "inside", layout=layout, **levels))  # type: ignore[arg-type]
    np.testing.assert_array_equal(enlarge(PHOTO).array, PHOTO.array.repeat(2, 0).repeat(2, 1))
    np.testing.assert_array_equal(ImageToImage(session)(PHOTO).array, PHOTO.array.repeat(2, 0).repeat(2, 1))


def test_margins_are_cut_off_again() -> None:
    enlarge = ImageToImage(doubled("NCHW", [1, 3, 64, 64]))
    for size in [(64, 32), (32, 64), (64, 21), (1, 1), (900, 1)]:
        photo = PHOTO.resize(*size)
        frame = enlarge.image.frame(photo)
        got = enlarge(photo)
        assert got.size == (frame.scaled[0] * 2, frame.scaled[1] * 2)
        if frame.scaled == size:
            np.testing.assert_array_equal(got.array, photo.array.repeat(2, 0).repeat(2, 1))


def test_values_beyond_the_range_are_clipped_and_nan_is_an_error() -> None:
    brighter = network(
        [node("Add", "x", "one")], [1, 3, "h", "w"], [1, 3, "h", "w"], constants={"one": np.float32(0.5)}
    )
    np.testing.assert_array_equal(ImageToImage(brighter)(plain([0, 100, 200])).array[0, 0], [128, 228, 255])
    broken = network([node("Div", "x", "nil")], [1, 3, "h", "w"], [1, 3, "h", "w"], constants={"nil": np.float32(0)})
    with pytest.raises(InvalidInput, match='output "y" holds NaN or infinity'):
        ImageToImage(broken)(plain([0, 100, 200]))


def test_a_grey_network_gives_a_grey_picture_and_what_is_no_picture_is_refused() -> None:
    grey = network([node("Identity", "x")], [1, 1, "h", "w"], [1, 1, "h", "w"])
    np.testing.assert_array_equal(ImageToImage(grey)(PHOTO).array, PHOTO.gray().array)
    pooled = network(
        [node("ReduceMean", "x", "axes")], [1, 3, 8, 8], [1, 1, 1, 8], constants={"axes": np.array([1, 2])}
    )
    flat = network([node("Flatten", "x")], [1, 3, 8, 8], [1, 192])
    with pytest.raises(InvalidInput, match=r'output "y" is \[1, 192\], expected a picture, \[1, 3, H, W\]'):
        ImageToImage(flat)(PHOTO)
    assert ImageToImage(pooled)(PHOTO).height == 1
