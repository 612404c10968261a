"""Pictures of every kind become the same RGB levels, or a sentence."""

import io
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from onnxlet.errors import InvalidInput
from onnxlet.media import codecs
from onnxlet.values import Drawing, Image

DATA = Path(__file__).parents[1] / "data"
EXPECTED = json.loads((DATA / "I_images.json").read_text())
RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (6, 9, 3), dtype=np.uint8)


def encoded(picture: Any, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def png(width: int, height: int, depth: int, colour: int, rows: list[bytes], extra: bytes = b"") -> bytes:
    """A PNG file written by hand: Pillow writes neither 16-bit colour nor absurd sizes."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def size_or_sentence(data: bytes) -> tuple[int, int] | str:
    try:
        return Image.open(data).size
    except InvalidInput as error:
        return str(error)


# -------------------------------------------------------------------------------------------------- the cases


def test_alpha_is_composited_over_white() -> None:
    for name in ("I02_alpha.png", "I08_png_named.jpg"):
        image = Image.open(DATA / name)
        for column, level in zip((0, 4, 8), EXPECTED["I02_alpha.png"]["over_white"], strict=True):
            assert np.abs(image.array[0, column].astype(int) - level).max() <= 1
        assert image.alpha[0, [0, 4, 8]].tolist() == [0, 128, 255]
        assert image.rgba[0, 0].tolist() == [255, 0, 0, 0]


def test_a_palette_gives_its_colours_and_its_transparency() -> None:
    image = Image.open(DATA / "I05_palette_trns.png")
    expected = np.array(EXPECTED["I05_palette_trns.png"]["PIL_RGBA"])
    assert image.array.shape == (4, 4, 3)
    for colour in expected:
        assert (image.rgba == colour).all(axis=2).any()
    assert (image.array[image.alpha == 0] == 255).all()


def test_one_bit_grey_with_a_transparent_level_keeps_both() -> None:
    image = Image.open(DATA / "I05_grey1bit_trns.png")
    expected = EXPECTED["I05_grey1bit_trns.png"]
    assert image.rgba[0, :, 0].tolist() == expected["grey"]
    assert image.alpha[0].tolist() == expected["alpha"]


@pytest.mark.parametrize("name", ["I05_grey_alpha.png", "I05_grey.jpg", "I07_line300.png"])
def test_grey_pictures_have_three_equal_channels(name: str) -> None:
    array = Image.open(DATA / name).array
    assert array.shape[2] == 3
    assert (array == array[:, :, :1]).all()


def test_grey_with_alpha_keeps_its_levels() -> None:
    assert Image.open(DATA / "I05_grey_alpha.png").array.tolist() == EXPECTED["I05_grey_alpha.png"]["rgb"]


def test_shrinking_averages_a_checkerboard_and_keeps_a_line() -> None:
    board = Image.open(DATA / "I07_checker256.png")
    for method in ("BILINEAR", "BICUBIC", "NEAREST", "LANCZOS"):
        small = board.resize(16, 16, method.lower()).array
        assert [small.min(), small.max()] == EXPECTED["I07_checker256.png"][method]
    line = Image.open(DATA / "I07_line300.png").resize(30, 30).array
    assert line[0, :, 0].tolist() == EXPECTED["I07_line300.png"]["BILINEAR_row0"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("I08_truncated.jpg", 'picture "I08_truncated.jpg": a damaged or cut JPEG file of 600 bytes'),
        ("I08_empty.png", 'picture "I08_empty.png": expected an image file, got 0 bytes; choose another file'),
        ("A01_u8.wav", 'picture "A01_u8.wav": expected an image .* got 4,044 bytes that start with b\'RIFF'),
    ],
)
def test_a_damaged_file_is_a_sentence(name: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Image.open(DATA / name)


# --------------------------------------------------------------------------------------------- the whole kind


def test_sixteen_bit_grey_keeps_the_high_byte() -> None:
    levels = np.array([[0, 255, 256, 0x7FFF, 0x8000, 0xFFFF]], np.uint16)
    image = Image.open(encoded(Pillow.fromarray(levels), "PNG"))
    assert image.array[0, :, 0].tolist() == [0, 0, 1, 127, 128, 255]


def test_sixteen_bit_grey_may_have_a_transparent_level() -> None:
    rows = [struct.pack(">3H", 0x1234, 0x1235, 0xFFFF)]
    image = Image.open(png(3, 1, 16, 0, rows, chunk(b"tRNS", struct.pack(">H", 0x1234))))
    assert image.alpha.tolist() == [[0, 255, 255]]
    assert image.array[0, 0].tolist() == [255, 255, 255]


def test_sixteen_bit_colour_keeps_the_high_bytes() -> None:
    image = Image.open(png(1, 1, 16, 2, [struct.pack(">3H", 0x12FF, 0x80FF, 0xFEFF)]))
    assert image.array.tolist() == [[[0x12, 0x80, 0xFE]]]


def test_a_colour_key_makes_its_pixels_transparent() -> None:
    key = chunk(b"tRNS", struct.pack(">3H", 10, 20, 30))
    image = Image.open(png(2, 1, 8, 2, [bytes([10, 20, 30, 10, 20, 31])], key))
    assert image.alpha.tolist() == [[0, 255]]
    assert image.array.tolist() == [[[255, 255, 255], [10, 20, 31]]]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("PNG", {}),
        ("BMP", {}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
        ("WEBP", {"lossless": True}),
        ("PPM", {}),
    ],
)
def test_lossless_formats_keep_every_level(kind: str, options: dict[str, Any]) -> None:
    image = Image.open(encoded(Pillow.fromarray(COLOUR), kind, **options))
    np.testing.assert_array_equal(image.array, COLOUR)


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 2}, {"quality": 30}])
def test_jpeg_gives_pillows_levels(options: dict[str, Any]) -> None:
    picture = Pillow.fromarray(np.kron(COLOUR, np.ones((8, 8, 1), np.uint8)))
    data = encoded(picture, "JPEG", **options)
    np.testing.assert_array_equal(Image.open(data).array, np.asarray(Pillow.open(io.BytesIO(data))))


def test_cmyk_jpeg_becomes_rgb() -> None:
    ink = np.zeros((16, 16, 4), np.uint8)
    ink[:, 8:] = (255, 0, 0, 0)  # full cyan
    image = Image.open(encoded(Pillow.fromarray(ink, "CMYK"), "JPEG", quality=100))
    assert np.abs(image.array[0, 0].astype(int) - 255).max() <= 2
    assert np.abs(image.array[0, 15].astype(int) - (0, 255, 255)).max() <= 2


def test_ycck_jpeg_becomes_rgb() -> None:
    """Adobe's marker says how four channels are stored: transform 2 is YCCK, and (0, 128, 128, 0) inverted is white."""
    grey = np.full((16, 16, 4), 128, np.uint8)
    data = encoded(Pillow.fromarray(grey, "CMYK"), "JPEG", quality=100)
    adobe = data.index(b"Adobe")
    image = Image.open(data[: adobe + 11] + b"\x02" + data[adobe + 12 :])
    assert image.array.shape == (16, 16, 3)
    assert np.ptp(image.array[0, 0].astype(int)) <= 2  # neutral chroma stays grey


def test_of_an_animation_the_first_frame_counts() -> None:
    frames = [Pillow.new("RGB", (4, 4), colour) for colour in ("red", "lime", "blue")]
    for kind in ("GIF", "WEBP", "PNG"):
        options = {"lossless": True} if kind == "WEBP" else {}
        image = Image.open(encoded(frames[0], kind, save_all=True, append_images=frames[1:], **options))
        assert image.array[2, 2].tolist() == [255, 0, 0], kind


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied_as_pillow_applies_it(orientation: int) -> None:
    from PIL import ImageOps

    exif = Pillow.Exif()
    exif[0x0112] = orientation
    for kind in ("PNG", "WEBP"):
        options = {"lossless": True} if kind == "WEBP" else {}
        data = encoded(Pillow.fromarray(COLOUR), kind, exif=exif, **options)
        upright = ImageOps.exif_transpose(Pillow.open(io.BytesIO(data)))
        np.testing.assert_array_equal(Image.open(data).array, np.asarray(upright))


@pytest.mark.parametrize(
    "exif", [b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12"]
)
def test_damaged_exif_does_not_cost_the_picture(exif: bytes) -> None:
    data = encoded(Pillow.fromarray(COLOUR), "WEBP", lossless=True, exif=exif)
    np.testing.assert_array_equal(Image.open(data).array, COLOUR)


def test_too_many_pixels_are_refused_before_they_take_memory() -> None:
    for side in (12_000, 60_000):  # Pillow itself stops at the second
        with pytest.raises(InvalidInput, match=r"100,000,000.*make it smaller first"):
            Image.open(png(side, side, 1, 0, [b"\0"]), "bomb.png")


def test_a_compressed_text_bomb_is_a_sentence() -> None:
    bomb = chunk(b"zTXt", b"a\0\0" + zlib.compress(b"0" * (200 << 20)))
    with pytest.raises(InvalidInput, match="picture"):
        Image.open(png(1, 1, 8, 0, [b"\0"], bomb))


def test_formats_that_start_other_programs_are_refused() -> None:
    with pytest.raises(InvalidInput, match="expected an image"):
        Image.open(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\nshowpage\n")


def test_floating_point_levels_are_refused_with_the_reason() -> None:
    data = encoded(Pillow.fromarray(np.ones((2, 2), np.float32)), "TIFF")
    with pytest.raises(InvalidInput, match="no agreed white; save it with 8 or 16 bits"):
        Image.open(data)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_a_cut_file_is_a_sentence_or_the_whole_picture(kind: str) -> None:
    picture = Pillow.fromarray(np.kron(COLOUR, np.ones((8, 8, 1), np.uint8)))
    data = encoded(picture, kind)
    for end in range(1, len(data), max(1, len(data) // 40)):
        size = size_or_sentence(data[:end])
        assert size == picture.size or str(size).startswith("picture: ")


# ------------------------------------------------------------------------------------------ what one can do


def test_grey_levels_equal_pillows() -> None:
    expected = np.asarray(Pillow.fromarray(COLOUR).convert("L"))
    np.testing.assert_array_equal(Image(COLOUR).gray().array, expected)
    np.testing.assert_array_equal(Image(COLOUR).gray().rgb().gray().array, expected)


@pytest.mark.parametrize(
    ("do", "pillow"),
    [
        (lambda i: i.crop(1, 2, 5, 6), lambda p: p.crop((1, 2, 5, 6))),
        (lambda i: i.rotate90(), lambda p: p.transpose(Pillow.Transpose.ROTATE_90)),
        (lambda i: i.rotate90(3), lambda p: p.transpose(Pillow.Transpose.ROTATE_270)),
        (lambda i: i.flip(), lambda p: p.transpose(Pillow.Transpose.FLIP_LEFT_RIGHT)),
        (lambda i: i.resize(4, 3), lambda p: p.resize((4, 3), Pillow.Resampling.BILINEAR)),
        (lambda i: i.resize_shorter(4), lambda p: p.resize((6, 4), Pillow.Resampling.BILINEAR)),
    ],
)
def test_transformations_equal_pillows(do: Callable[[Image], Image], pillow: Callable[[Any], Any]) -> None:
    before = COLOUR.copy()
    np.testing.assert_array_equal(do(Image(COLOUR)).array, np.asarray(pillow(Pillow.fromarray(COLOUR))))
    np.testing.assert_array_equal(COLOUR, before)


def test_center_crop_takes_the_middle() -> None:
    assert Image(np.arange(5, dtype=np.uint8)[None]).center_crop(3, 1).array.tolist() == [[1, 2, 3]]
    with pytest.raises(InvalidInput, match=r"10 x 10 pixels asked of a picture of 9 x 6; resize or pad first"):
        Image(COLOUR).center_crop(10)


def test_letterbox_keeps_the_shape_and_fills_the_rest() -> None:
    boxed = Image(np.full((10, 20, 3), 9, np.uint8)).letterbox(40, 40)
    assert boxed.size == (40, 40)
    assert (boxed.array[10:30] == 9).all()
    assert (boxed.array[:10] == 114).all()
    assert (boxed.array[30:] == 114).all()


def test_a_box_outside_the_picture_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"box \(0, 0, 10, 6\) is empty or outside the picture of 9 x 6"):
        Image(COLOUR).crop(0, 0, 10, 6)


def test_to_float_gives_normalized_planes() -> None:
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    x = Image(COLOUR).to_float(mean, std)
    assert (x.shape, x.dtype) == ((1, 3, 6, 9), np.float32)
    np.testing.assert_allclose(x[0].transpose(1, 2, 0), (COLOUR / 255 - mean) / std, rtol=1e-5, atol=1e-6)
    assert Image(COLOUR).gray().to_float().shape == (1, 1, 6, 9)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([[0.0, 0.5, 1.0]]), [[0, 128, 255]]),
        (np.array([[False, True]]), [[0, 255]]),
        (np.array([[0, 200]], np.int64), [[0, 200]]),
        (np.array([[[7], [8]]], np.uint8), [[7, 8]]),
        (np.array([[0.25]], np.float16), [[64]]),
    ],
)
def test_arrays_of_other_types_become_levels(array: np.ndarray, expected: list[list[int]]) -> None:
    assert Image.from_array(array).array.tolist() == expected


def test_a_pillow_image_is_an_array() -> None:
    np.testing.assert_array_equal(Image.from_array(Pillow.fromarray(COLOUR)).array, COLOUR)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (
            np.array([[0.0, 254.0]]),
            r"float64 levels of 0 to 1, got 0.0 to 254.0; scale them, or np.clip\(array, 0, 1\)",
        ),
        (np.array([[np.nan]]), "got nan to nan"),
        (np.array([[256]]), "levels of 0 to 255, got 256 to 256"),
        (np.zeros((3, 4, 5)), r"got \[3, 4, 5\]; it looks like \[C, H, W\]"),
        (np.zeros((1, 4, 5, 3)), "take one picture of the batch first"),
        (np.zeros((0, 4)), r"with pixels, got \[0, 4\]"),
        (np.ma.array([[1, 2]], mask=[[0, 1]]), r"got masked ones; use .filled\(level\)"),
        (np.array([["a"]]), "expected integers, floats or bool"),
    ],
)
def test_an_array_that_is_no_picture_is_refused(array: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Image.from_array(array)


def test_a_picture_written_as_png_comes_back_with_its_alpha(tmp_path: Path) -> None:
    rgba = RNG.integers(0, 256, (3, 4, 4), dtype=np.uint8)
    path = tmp_path / "a b.png"
    path.write_bytes(Image(rgba).to_png())
    again = Image.open(path)
    np.testing.assert_array_equal(again.rgba, rgba)
    assert (again.name, again.source) == ("a b.png", path.read_bytes())
    with path.open("rb") as file:
        np.testing.assert_array_equal(Image.open(file).rgba, rgba)


def test_a_text_file_handle_is_refused() -> None:
    with pytest.raises(TypeError, match="open it with mode 'rb'"):
        Image.open(io.StringIO("x"))  # type: ignore[arg-type]


def test_the_limit_leaves_room_for_the_largest_usual_cameras() -> None:
    assert codecs.MAX_PIXELS >= 50_000_000


# ---------------------------------------------------------------------------------------------------- drawings


def test_a_dot_is_a_round_spot_of_its_size() -> None:
    drawing = Drawing.from_strokes([{"size": 10, "points": [16, 16]}], 32, 32)
    area = drawing.gray().array.astype(float).sum() / 255
    assert area == pytest.approx(np.pi * 25, rel=0.02)
    np.testing.assert_array_equal(drawing.array, drawing.array[::-1])
    np.testing.assert_array_equal(drawing.array, drawing.array[:, ::-1])


def test_a_line_has_its_width_and_round_ends() -> None:
    level = Drawing.from_strokes([{"size": 4, "points": [10, 16, 30, 16]}], 40, 32).gray().array
    assert (level[:, 20] == 255).sum() == 4
    assert level[16, 8] > 0
    assert level[16, 7] == 0
    assert level.astype(float).sum() / 255 == pytest.approx(4 * 20 + np.pi * 4, rel=0.03)


def test_crossings_are_as_bright_as_lines() -> None:
    cross = [{"size": 3, "points": [0, 8, 16, 8]}, {"size": 3, "points": [8, 0, 8, 16]}]
    assert Drawing.from_strokes(cross, 16, 16, ink=200).array.max() == 200


def test_slanted_lines_have_smooth_edges() -> None:
    level = Drawing.from_strokes([{"size": 5, "points": [3, 3, 50, 33]}], 60, 40).gray().array
    assert np.unique(level).size > 50


def test_ink_and_paper_are_levels() -> None:
    drawing = Drawing.from_strokes([{"size": 6, "points": [4, 4]}], 8, 8, ink=0, paper=255)
    assert drawing.array[4, 4].tolist() == [0, 0, 0]
    assert drawing.array[0, 0].tolist() == [255, 255, 255]


def test_strokes_outside_the_paper_leave_it_blank() -> None:
    strokes = [{"size": 5, "points": [-100, -100, -50, -1e9]}, {"size": 5, "points": [1e12, 3]}]
    assert not Drawing.from_strokes(strokes, 8, 8).array.any()


@pytest.mark.parametrize(
    ("stroke", "message"),
    [
        ({"size": 5, "points": [1, 2, 3]}, "stroke 0: expected a size over 0 and pairs of finite coordinates"),
        ({"size": 5, "points": [float("nan"), 2]}, "pairs of finite coordinates"),
        ({"size": 0, "points": [1, 2]}, "a size over 0"),
        ({"points": [1, 2]}, 'expected {"size": number'),
        ({"size": "thick", "points": [1, 2]}, 'expected {"size": number'),
        ({"size": 1, "points": [[1, 2]]}, "pairs of finite coordinates"),
    ],
)
def test_a_broken_stroke_is_named(stroke: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Drawing.from_strokes([stroke])


def test_a_drawing_can_be_a_picture_file() -> None:
    drawing = Drawing.open(DATA / "I07_line300.png")
    assert isinstance(drawing, Drawing)
    assert drawing.size == (300, 300)
