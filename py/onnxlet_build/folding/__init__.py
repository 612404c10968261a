"""App functions that are a task, folded into graphs, so that a page answers before Python is there.

A function that says of itself that it is a task (`onnxlet.tasks.declared`) becomes a chain: ``pre.onnx`` makes the
feeds of what the form gives, the app's own model runs, and ``post.onnx`` makes what is shown of its outputs. No weights
are shipped or held twice. `prove` compares the chain with the Python function; what is not equal does not ship.
"""

from .files import Direct, fold_app
from .folded import Folded, Unfoldable
from .in_browser import differing
from .proof import TOLERANCE, Proof, prove
from .tasks import fold

__all__ = ["TOLERANCE", "Direct", "Folded", "Proof", "Unfoldable", "differing", "fold", "fold_app", "prove"]
