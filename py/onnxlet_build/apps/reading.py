"""Apps that read the text in a picture, with two models: one finds lines, one reads them."""

import io

from onnxlet import InferenceSession
from onnxlet.errors import BuildError, InvalidInput
from onnxlet.source import ModelSource
from onnxlet.tasks import TextReader

from ..sources.onnx import OnnxFile
from ..sources.onnx import export as export_onnx
from .draft import Draft, call
from .files import add_example
from .images import picture_of
from .subject import Subject

__all__ = ["reading"]

_RECOGNIZER, _CHARACTERS = "recognizer.onnx", "characters.txt"

_READ = '''\
def read(image: Image) -> tuple[str, Boxes]:
    """What does it say?"""
    lines = reader(image)
    return Line.to_text(lines), Boxes([line.to_box() for line in lines], image)
'''


def reading(subject: Subject) -> Draft:
    """A picture in, its text and where it stands out."""
    picture_of(subject, "ocr")
    path = subject.wanted.recognizer
    if path is None:
        raise BuildError(
            f"{subject.path}: finds lines of text; say by --recognizer FILE which model reads them "
            "(PP-OCR's come in twos)"
        )
    if not path.is_file():
        raise BuildError(f"--recognizer {path}: is not there; check the path")
    data = export_onnx(OnnxFile(path), path.name).data
    draft = Draft(f"{subject.title}: what does it say?", _READ, "read")
    draft.open_session(subject.model)
    draft.open_session(_RECOGNIZER, "recognizer")
    draft.files[_RECOGNIZER] = data
    draft.use("onnxlet", "Boxes", "Image")
    draft.use("onnxlet.tasks", "Line", "TextReader")
    arguments, characters = ["session", "recognizer"], None
    if subject.wanted.characters:
        text = subject.wanted.file("characters").decode("utf-8-sig", "replace")
        characters = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
        draft.files[_CHARACTERS] = "\n".join(characters).encode()
        draft.setup.append(f'characters = (HERE / "{_CHARACTERS}").read_text(encoding="utf-8").split("\\n")')
        arguments.append("characters=characters")
    elif "character" not in ModelSource(data).signature().metadata.custom_metadata_map:
        raise BuildError(f"--recognizer {path}: does not list its characters; give --characters FILE, one a line")
    try:
        TextReader(InferenceSession(subject.made.data), InferenceSession(data), characters=characters)
    except InvalidInput as error:
        raise BuildError(f"{subject.path}: {error}; see --characters") from error
    draft.setup.append(call("reader = TextReader", arguments))
    add_example(draft, subject, "example.png", _page, "drawn")
    return draft


def _page() -> bytes:
    """A PNG of two lines of text, black on white."""
    from PIL import Image, ImageDraw, ImageFont

    page = Image.new("L", (480, 160), 255)
    draw = ImageDraw.Draw(page)
    for number, line in enumerate(("The quick brown fox", "Total: 42.50")):
        draw.text((24, 24 + 60 * number), line, fill=0, font=ImageFont.load_default(32))
    stream = io.BytesIO()
    page.save(stream, "PNG")
    return stream.getvalue()
