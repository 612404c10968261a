"""LightGBM and a random forest on scikit-learn's breast_cancer data (UCI, Wolberg et al. 1995, CC BY 4.0)."""

import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from onnxlet_build.features import describe

# Of the 30 measures of cell nuclei these say most, and no two of them say nearly the same, as radius and area do.
FEATURES = [
    "worst radius",
    "worst concave points",
    "worst texture",
    "worst smoothness",
    "worst concavity",
    "worst symmetry",
    "mean concave points",
    "radius error",
]


def data():
    """Three quarters of the rows to train on and the others: features and diagnoses (0 malignant, 1 benign)."""
    rows = load_breast_cancer(as_frame=True)
    return train_test_split(rows.data[FEATURES], rows.target, test_size=0.25, random_state=0, stratify=rows.target)


def model():
    """Both models, the form's features, and ten patients that neither was trained on."""
    train, test, targets, diagnoses = data()
    boosted = LGBMClassifier(n_estimators=60, num_leaves=8, learning_rate=0.1, random_state=0, verbose=-1)
    forest = RandomForestClassifier(100, min_samples_leaf=2, random_state=0)
    found = diagnoses.map({0: "malignant", 1: "benign"}).rename("found by doctors")
    patients = pd.concat([found, test.round(4)], axis=1)
    return {
        "lightgbm.onnx": boosted.fit(train, targets),
        "forest.onnx": forest.fit(train.to_numpy(), targets),
        "features.json": describe(train),
        "patients.csv": patients.head(10).to_csv(index=False).encode(),
    }
