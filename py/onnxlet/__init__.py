"""onnxlet: ONNX models in Python, the same in CPython and in a page.

`InferenceSession` and its helpers have onnxruntime's names and behaviour.
"""

from typing import TYPE_CHECKING

from .lazy import names_of

if TYPE_CHECKING:
    from .app import App, Example
    from .card import ModelCard
    from .comparison import Comparison, acompare, compare
    from .dtypes import DataType
    from .errors import (
        BuildError,
        InvalidInput,
        InvalidModel,
        OnnxletError,
        OutOfMemory,
        ProviderError,
        Refused,
        UnsupportedOp,
    )
    from .model import TensorType
    from .ops.registry import op
    from .session import (
        ExecutionMode,
        ExecutionOrder,
        GraphOptimizationLevel,
        InferenceSession,
        IOBinding,
        ModelMetadata,
        NodeArg,
        OrtValue,
        RunOptions,
        SessionOptions,
        get_all_providers,
        get_available_providers,
        get_device,
    )
    from .tokenizer import Encoding, Tokenizer
    from .values import (
        Audio,
        Box,
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
        Span,
        Spans,
        Table,
        Tensor,
        Text,
    )
else:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "app": "App Example",
            "card": "ModelCard",
            "comparison": "Comparison acompare compare",
            "dtypes": "DataType",
            "errors": (
                "BuildError InvalidInput InvalidModel OnnxletError OutOfMemory ProviderError Refused UnsupportedOp"
            ),
            "model": "TensorType",
            "ops.registry": "op",
            "session": (
                "ExecutionMode ExecutionOrder GraphOptimizationLevel InferenceSession IOBinding ModelMetadata "
                "NodeArg OrtValue RunOptions SessionOptions get_all_providers get_available_providers get_device"
            ),
            "tokenizer": "Encoding Tokenizer",
            "values": (
                "Audio Box Boxes Choice Drawing Field File Image Json Labels Mask Number Span Spans Table Tensor Text"
            ),
        },
    )

__version__ = "0.1.0"

__all__ = [  # noqa: RUF022 (grouped by what they are for)
    # running models
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "get_all_providers",
    "get_available_providers",
    "get_device",
    # seeing inside
    "Comparison",
    "acompare",
    "compare",
    # custom operators
    "DataType",
    "TensorType",
    "op",
    # apps: what they take and show
    "App",
    "Audio",
    "Box",
    "Boxes",
    "Choice",
    "Drawing",
    "Example",
    "Field",
    "File",
    "Image",
    "Json",
    "Labels",
    "Mask",
    "ModelCard",
    "Number",
    "Span",
    "Spans",
    "Table",
    "Tensor",
    "Text",
    # text
    "Encoding",
    "Tokenizer",
    # what can go wrong
    "BuildError",
    "InvalidInput",
    "InvalidModel",
    "OnnxletError",
    "OutOfMemory",
    "ProviderError",
    "Refused",
    "UnsupportedOp",
]
