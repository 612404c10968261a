"""What an app takes and shows.

Value classes (`Image`, `Drawing`, `File`, `Audio`, `Table`, and the outputs `Labels`, `Boxes`, `Mask`,
`Spans`, `Json`) are annotations and hold the values. Fields (`Text`, `Number`, `Choice`, `Tensor`, and `Field` for the
options of a value class) only describe: the values are str, int or float, str and numpy.ndarray.
"""

from .audio import Audio
from .drawing import Drawing
from .fields import Choice, Field, Number, Tensor, Text
from .file import File
from .image import Image
from .json_text import Json
from .shown import Box, Boxes, Labels, Mask
from .spans import Span, Spans
from .table import Table

__all__ = [
    "Audio",
    "Box",
    "Boxes",
    "Choice",
    "Drawing",
    "Field",
    "File",
    "Image",
    "Json",
    "Labels",
    "Mask",
    "Number",
    "Span",
    "Spans",
    "Table",
    "Tensor",
    "Text",
]
