"""The last touch to a site: compressed files, what visits weigh, and both in site.json.

All of it depends on how well this machine compresses, so the build's identity does not depend on it.
"""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from . import budget
from .manifest import Tree
from .precompress import Weight, compress_pages, note_gzipped, precompress, weigh
from .progress import Reporter
from .site_pages import ROOT_FILES, manifest_text, write_manifest
from .visits import Visit, visits

__all__ = ["weigh_site"]


def weigh_site(
    tree: Tree,
    site: dict[str, Any],
    page: Collection[str],
    codings: Sequence[str],
    limits: Mapping[str, int],
    report: Reporter,
    executor: Executor,
) -> tuple[dict[str, Weight], list[Visit]]:
    """Compress a site that is written, add to site.json what came of it, and warn of visits past their limits.

    Args:
        site: gets "budget", and "gz" in its files.
        page: the page's own files that every visit fetches.
        codings: compressed files to write.
        limits: of --budget.
    Returns: what each file weighs, and the visit to each app.
    """
    weights = precompress(tree.files, tree.root, codings, report, executor)
    note_gzipped(tree.files, tree.root)
    manifest = weigh(manifest_text(site))
    roots = {app["name"]: manifest + weigh((tree.root / app["page"]).read_text("utf-8")) for app in site["apps"]}
    visited = visits(site, tree.root, page, weights, roots)
    site["budget"] = budget.entry(visited, limits)
    compress_pages(tree.root, {*site["pages"], *ROOT_FILES, *write_manifest(tree, site)}, codings)
    for sentence in budget.overruns(visited, limits):
        report.warn(sentence)
    return weights, visited
