"""What the original model answers on native ONNX Runtime: what every variant is compared with."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import onnxlet
from onnxlet.accuracy import comparable
from onnxlet.dtypes import Array
from onnxlet.errors import BuildError, OnnxletError
from onnxlet.model import Model

from . import paths
from .inspect_app import Inspected
from .models import nodes
from .samples import Samples

__all__ = ["custom_domains", "expected_outputs"]

_STANDARD = {"", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview.training", "com.microsoft"}
_PROVIDERS = ["CPUExecutionProvider"]


def custom_domains(model: Model) -> list[str]:
    """Domains whose operators only the app itself can bring."""
    own = {function.domain for function in model.functions}
    return sorted({node.domain for node in nodes(model)} - _STANDARD - own)


def expected_outputs(model: Path, samples: Samples, folder: Path, app: Inspected | None = None) -> Samples:
    """Run the original on native ONNX Runtime.

    Args:
        folder: where the outputs are written, an .npz a sample with one array an output (`comparable`).
        app: registers the model's own operators when it is imported; None where the model has none.
    Raises: BuildError: it does not run.
    """
    if app is None:
        return Samples.write(folder, _outputs(model, samples))
    files = [app.files[f"{app.module}.py"], model, folder, *samples.paths]
    command = [sys.executable, "-m", "onnxlet_build.reference", *map(str, files)]
    old = os.environ.get("PYTHONPATH")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(paths.CORE.parent), *([old] if old else [])])}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        raise BuildError(f"{model.name}: does not run natively with the operators of {app.module}.py ({last})")
    return Samples(sorted(folder.glob("*.npz")))


def _outputs(model: Path, samples: Samples) -> Iterator[dict[str, Array]]:
    options = onnxlet.SessionOptions()
    # else native ONNX Runtime computes DequantizeLinear and MatMul with activations of 8 bits
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    try:
        session = onnxlet.InferenceSession(model, options, providers=_PROVIDERS)
        names = [output.name for output in session.get_outputs()]
        for feeds in samples:
            values = session.run(names, feeds)
            yield {name: comparable(value) for name, value in zip(names, values, strict=True)}
    except OnnxletError as error:
        raise BuildError(f"{model.name}: does not run natively on its samples: {error}") from error


def _main(app: str, model: str, folder: str, *samples: str) -> None:
    from .inspect_child import load

    load(Path(app))
    Samples.write(Path(folder), _outputs(Path(model), Samples([Path(path) for path in samples])))


if __name__ == "__main__":
    _main(*sys.argv[1:])
