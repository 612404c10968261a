"""Two models on the same measures of cell nuclei, side by side: LightGBM and a random forest of scikit-learn's."""

from pathlib import Path
from typing import Annotated

from onnxlet import App, Field, InferenceSession, Labels, ModelCard, Table, Text
from onnxlet.tasks import TabularPredictor, feature_form, read_features

FEATURES = read_features("features.json")
LABELS = ["malignant", "benign"]
PATIENTS = Table.open(Path(__file__).parent / "patients.csv")

lightgbm = TabularPredictor(InferenceSession("lightgbm.onnx"), features=FEATURES, labels=LABELS)
forest = TabularPredictor(InferenceSession("forest.onnx"), features=FEATURES, labels=LABELS)


@feature_form(FEATURES)
def diagnose(
    row: dict,
) -> tuple[
    Annotated[str, Text(label="Verdict")],
    Annotated[Labels, Field(label="LightGBM")],
    Annotated[Labels, Field(label="Random forest")],
]:
    """Choose the measures of a tumour's cell nuclei; the worst radius is the mean of the three largest, and so on."""
    boosted, grown = lightgbm(row), forest(row)
    verdict = f"Both say {boosted.best}." if boosted.best == grown.best else "The models disagree."
    return verdict, boosted, grown


def diagnose_many(table: Annotated[Table, Field(columns=[feature.name for feature in FEATURES])]) -> Table:
    """Give a CSV file with a column for each measure and a row for each tumour."""
    boosted, grown = (predictor.predict_table(table) for predictor in (lightgbm, forest))
    answers = {"LightGBM": boosted.column("prediction"), "random forest": grown.column("prediction")}
    return Table.from_dict(answers | {name: table.column(name) for name in table.columns})


def patient(diagnosis: str) -> tuple:
    """The measures of the first patient with this diagnosis, whom the models were not trained on."""
    row = PATIENTS.column("found by doctors").index(diagnosis)
    return tuple(float(PATIENTS.column(feature.name)[row]) for feature in FEATURES)


app = App(
    diagnose,
    diagnose_many,
    title="Diagnosis",
    live=True,
    description="Is a tumour benign? Two models answer from eight measures of its cell nuclei, side by side. "
    "This shows how such models answer and is no medical device.",
    examples={
        "diagnose": {f"a {diagnosis} tumour": patient(diagnosis) for diagnosis in LABELS},
        "diagnose_many": ["patients.csv"],
    },
    card=[
        ModelCard(
            name,
            source=f"trained by model.py with {library}",
            licence="CC-BY-4.0",
            trained_on="426 tumours of the Breast Cancer Wisconsin (Diagnostic) data, UCI, as scikit-learn has it",
            limits=f"No medical device. Right on {right} of the 143 other tumours; knows nothing of other hospitals.",
        )
        for name, library, right in [
            ("Boosted trees", "LightGBM", "94%"),
            ("Random forest", "scikit-learn", "95%"),
        ]
    ],
)
