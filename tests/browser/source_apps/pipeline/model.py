"""A scikit-learn pipeline over numbers and words, as tables have them."""

import numpy as np
import pandas
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

CITIES = ("Berlin", "Kyiv", "Lima", "Osaka")


def table():
    """300 made-up flats and whether they were let within a week; the rule is noisy on purpose."""
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "area": rng.uniform(20, 150, 300).astype(np.float32),
            "rent": rng.uniform(300, 2500, 300).astype(np.float32),
            "city": rng.choice(CITIES, 300),
        }
    )
    cheap = frame.rent / frame.area < 12 + 3 * (frame.city == "Lima") + rng.normal(0, 2, 300)
    return frame, cheap.to_numpy(np.int64)


def pipeline():
    """The fitted pipeline."""
    frame, let = table()
    columns = make_column_transformer(
        (StandardScaler(), ["area", "rent"]), (OneHotEncoder(handle_unknown="ignore"), ["city"])
    )
    return make_pipeline(columns, LogisticRegression()).fit(frame, let)


def model():
    """The pipeline; its columns become inputs."""
    return pipeline()
