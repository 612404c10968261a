"""Rows that lie where models of tables go wrong: on trees' thresholds, a float32 step beside them, off categories."""

from collections.abc import Collection, Mapping

import numpy as np

from onnxlet.dtypes import Array

__all__ = ["border_rows"]


def border_rows(
    thresholds: Mapping[int, Collection[float]],
    features: int,
    *,
    whole: Collection[int] = (),
    nan_share: float = 0.0,
    count: int = 1000,
    seed: int = 0,
) -> Array:
    """Rows whose every cell is a threshold of its column, or one float32 step off; float32 [count, features].

    Every row passes many nodes of every tree, so most thresholds are hit. A column without thresholds is normal noise.

    Args:
        thresholds: by column, as the library has them, in float64.
        whole: columns of categories: their cells are also fractions, negative and unseen.
        nan_share: how many of the cells are missing.
    """
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, features)).astype(np.float32)
    for column, values in thresholds.items():
        cells = np.array(sorted(values), np.float64)
        if column in whole:
            cells = np.concatenate([cells, cells + 0.9, cells - 0.5, [-1.0, -0.5, cells.max() + 1, 1e9]])
        with np.errstate(over="ignore"):
            near = cells.astype(np.float32)
        near = near[np.isfinite(near)]
        # 1e-36 counts as zero for LightGBM.
        around = [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
        rows[:, column] = rng.choice(np.concatenate([*around, np.array([0, 1e-36], np.float32)]), count)
    rows[rng.random(rows.shape) < nan_share] = np.nan
    return rows
