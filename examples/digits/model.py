"""Train the classifier: 784 - 128 - 64 - 10, on scikit-learn's digits (UCI, 1797 digits of 8 x 8 pixels, BSD)."""

import numpy as np
from onnx.utils import Extractor
from scipy.ndimage import affine_transform
from skl2onnx import to_onnx
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from onnxlet import Image
from onnxlet.tasks import InkInput

INK = InkInput(layout="flat")  # as app.py has it
COPIES = 5  # of each digit, each with another turn, slant, width and pen


def pen_strokes(digit: np.ndarray, rng: np.random.Generator) -> Image:
    """A digit of 8 x 8 grey levels (0 to 16) as a pen would have drawn it: larger, turned a little, with hard edges."""
    side = 48
    turn, slant, stretch = rng.normal(0, 0.12), rng.normal(0, 0.15), np.exp(rng.normal(0, 0.15))
    step = 10 / side  # digit pixels per picture pixel, with a margin for the turned corners
    matrix = step * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn) + slant, np.cos(turn) / stretch]])
    offset = 3.5 - matrix @ np.full(2, (side - 1) / 2)
    grey = affine_transform(digit, matrix, offset, (side, side), order=2, mode="constant")
    threshold = rng.uniform(5, 13)  # a low one gives a thick pen, a high one a thin pen
    return Image.from_array((255 / (1 + np.exp((threshold - grey) / 0.7))).astype(np.uint8))


def data(digits: np.ndarray, labels: np.ndarray, copies: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs as the app prepares them. Returns: float32 [copies * N, 784] and int [copies * N]."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([INK.tensor(pen_strokes(digit, rng)) for _ in range(copies) for digit in digits])
    return rows, np.tile(labels, copies)


def train(digits: np.ndarray, labels: np.ndarray) -> MLPClassifier:
    """Fit the network."""
    network = MLPClassifier(
        (128, 64), batch_size=200, learning_rate_init=1.5e-3, max_iter=15, alpha=1e-3, random_state=0
    )
    inputs, targets = data(digits, labels, COPIES, seed=0)
    with threadpool_limits(1):  # the matrices are small: handing them between threads costs more than it gives
        return network.fit(inputs, targets)


def model():
    """The trained network as an ONNX model: x float32 [batch, 784] to probabilities float32 [batch, 10]."""
    digits = load_digits()
    network = train(digits.images, digits.target)
    example = np.zeros(INK.shape, np.float32)
    whole = to_onnx(network, example, target_opset=21, options={id(network): {"zipmap": False}})
    # The label comes from operators that exist on the CPU only; the app needs just the probabilities.
    graph = Extractor(whole).extract_model(["X"], ["probabilities"])
    for node in graph.graph.node:
        node.input[:] = ["x" if name == "X" else name for name in node.input]
    graph.graph.input[0].name = "x"
    graph.ir_version = min(graph.ir_version, 10)
    return {"digits.onnx": graph}
