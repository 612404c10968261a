"""The report of a build: report.html, which needs no script and no other file, and report.json."""

import json
from collections.abc import Sequence

from ..manifest import Tree
from ..sizes import Row
from ..variants import Study
from ..visits import Visit
from .data import Context, document
from .page import page, style_hash
from .verdict import verdict

__all__ = ["Context", "style_hash", "write_report"]


def write_report(
    tree: Tree,
    studies: Sequence[Study],
    rows: Sequence[Row] | None,
    context: Context,
    visits: Sequence[Visit] = (),
) -> str:
    """Write report.html and report.json into a site's root.

    Args:
        studies: one a model, in the order of the apps.
        rows: what the site holds; None where it is not known.
        visits: what the page of each app fetches.
    Returns: the page's path.
    """
    verdicts = [verdict(study, context) for study in studies]
    tree.page("report.json", json.dumps(document(studies, rows, context, verdicts, visits), indent=1, allow_nan=False))
    tree.page("report.html", page(studies, rows, context, verdicts, visits))
    return "report.html"
