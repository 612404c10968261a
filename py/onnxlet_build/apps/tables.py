"""Apps that take rows of a table."""

import io

import numpy as np

from onnxlet import InferenceSession, Table
from onnxlet.errors import BuildError, InvalidInput
from onnxlet.tasks import Feature, TabularPredictor

from ..features import describe, features_of
from .draft import Draft, call, quoted
from .pictures import labels_argument
from .subject import Subject

__all__ = ["classification", "gives_probabilities", "regression", "takes_rows"]

_EXAMPLE, _FEATURES = "example.csv", "features.json"
_ROWS = 5


def takes_rows(subject: Subject) -> bool:
    """Whether a model reads rows of features: one input [N, F], or an input [N, 1] a feature."""
    inputs = subject.signature.inputs
    rows = [arg for arg in inputs if len(arg.shape) == 2 and not isinstance(arg.shape[0], int)]
    if len(rows) != len(inputs) or not inputs:
        return False
    return len(inputs) == 1 or all(arg.shape[1] == 1 for arg in inputs)


def gives_probabilities(subject: Subject) -> bool:
    """Whether an output says by its name that it has probabilities."""
    return any("probabilit" in arg.name.lower() for arg in subject.signature.outputs)


def classification(subject: Subject) -> Draft:
    """A row in, its class out."""
    if not gives_probabilities(subject) and not subject.labels:
        raise BuildError(
            f"{subject.path}: gives no probabilities by name; give --labels FILE, or say --task tabular-regression"
        )
    return _draft(subject, "which class is this?", labelled=True)


def regression(subject: Subject) -> Draft:
    """A row in, a number out."""
    return _draft(subject, "how much is it?", labelled=False)


def _draft(subject: Subject, about: str, *, labelled: bool) -> Draft:
    table, features, entries = _features(subject)
    draft = Draft(f"{subject.title}: {about}", "", "*predictor.functions()")
    draft.open_session(subject.model)
    draft.use("onnxlet.tasks", "TabularPredictor", "read_features")
    draft.setup.append(f"features = read_features(HERE / {quoted(_FEATURES)})")
    arguments = ["session", "features=features"]
    names = subject.labels if labelled else []
    arguments += labels_argument(draft, subject, 0) if names else []
    draft.setup.append(call("predictor = TabularPredictor", arguments))
    session = InferenceSession(subject.made.data)
    try:
        TabularPredictor(session, features=features, labels=names or None).predict_table(table)
    except InvalidInput as error:
        raise BuildError(f"--features {subject.wanted.features}: {error}") from error
    draft.files |= {_FEATURES: entries, _EXAMPLE: table.to_csv().encode()}
    draft.named_examples = f'{{"predict": {{"usual values": {{}}}}, "predict_table": [{quoted(_EXAMPLE)}]}}'
    return draft


def _features(subject: Subject) -> tuple[Table, list[Feature], bytes]:
    """The first rows of the file, its columns as features, and these as the app reads them.

    Raises: BuildError: no file, none that is a table, or other columns than the model's inputs.
    """
    path = subject.wanted.features
    if path is None:
        raise BuildError(
            f"{subject.path}: needs names and ranges for its form; give --features FILE, a CSV file with the "
            "columns that it was trained on"
        )
    content = subject.wanted.file("features")
    try:
        table = Table.open(io.BytesIO(content), path.name)
    except InvalidInput as error:
        raise BuildError(f"--features {path}: {error}") from error
    inputs = subject.signature.inputs
    named = [arg.name for arg in inputs] if len(inputs) > 1 else table.columns
    width = inputs[0].shape[-1] if len(inputs) == 1 and inputs[0].shape else len(inputs)
    if missing := [name for name in named if name not in table.columns]:
        raise BuildError(f'--features {path}: has no column "{missing[0]}", which the model reads')
    if isinstance(width, int) and width != len(named):
        raise BuildError(
            f"--features {path}: has {len(named)} columns ({', '.join(named)}), and the model reads {width}; keep "
            "those that it was trained on, in their order, without what it predicts"
        )
    columns = [_cells(table.column(name)) for name in named]
    rows = np.empty((len(table), len(named)), object)
    for at, column in enumerate(columns):
        rows[:, at] = column
    first = Table(named, list(zip(*(table.column(name)[:_ROWS] for name in named), strict=True)))
    return first, features_of(rows, named), describe(rows, named)


def _cells(column: list[str]) -> list[float | str | None]:
    """Numbers where all that is filled in are numbers, else texts; None where nothing is."""
    kept = [cell.strip() or None for cell in map(str, column)]
    try:
        return [None if cell is None else float(cell) for cell in kept]
    except ValueError:
        return list(kept)
