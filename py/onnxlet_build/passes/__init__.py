"""Graph passes, one file each: ``run(model)`` gives another model with the same answers, or says that there is nothing.

A pass may change its argument. It need not keep the model's signature and metadata, need not be right for every model,
and may raise whatever it likes: `equivalence.py` restores and compares, `optimize.py` keeps what holds and helps.
"""

from collections.abc import Callable
from typing import NamedTuple

import onnx

from . import dead_weight, narrow_integers, onnxruntime_offline, slim, transformer_fusions
from .unsuited import Unsuited

__all__ = ["PASSES", "Pass", "Unsuited"]


class Pass(NamedTuple):
    """A pass and its name in the report.

    Args:
        instead: whether it is a lesser form of the pass before it, tried where that was suited and yet dropped.
    """

    name: str
    run: Callable[[onnx.ModelProto], onnx.ModelProto]
    instead: bool = False


# Dead weight goes first, so that patterns are not broken by an Identity; fusions of whole attention layers before
# anything rewrites the exporter's patterns; dead weight again, for what the others left behind.
PASSES = (
    Pass("dead weight", dead_weight.run),
    Pass("transformer fusions", transformer_fusions.run),
    Pass("transformer fusions, no attention", transformer_fusions.without_attention, instead=True),
    Pass("onnxslim", slim.run),
    Pass("ONNX Runtime, basic", onnxruntime_offline.basic),
    Pass("ONNX Runtime, extended", onnxruntime_offline.extended),
    Pass("ONNX Runtime, all", onnxruntime_offline.everything),
    Pass("int64 to int32", narrow_integers.run),
    Pass("dead weight again", dead_weight.run),
)
