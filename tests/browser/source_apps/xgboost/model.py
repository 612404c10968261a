"""Gradient-boosted trees on scikit-learn's breast cancer data."""

import io

import numpy as np
from sklearn.datasets import load_breast_cancer
from xgboost import XGBClassifier


def estimator():
    """The fitted classifier."""
    x, y = load_breast_cancer(return_X_y=True)
    return XGBClassifier(n_estimators=20, max_depth=4, random_state=0, n_jobs=1).fit(x[100:], y[100:])


def rows():
    """100 rows that it has not seen, float32 [100, 30]."""
    return load_breast_cancer().data[:100].astype(np.float32)


def model():
    """The classifier, and rows to try it on."""
    stream = io.BytesIO()
    np.save(stream, rows())
    return {"xgboost.onnx": estimator(), "rows.npy": stream.getvalue()}
