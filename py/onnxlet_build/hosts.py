"""What the hosts of static sites take and do, as far as a build has to know."""

from dataclasses import dataclass

__all__ = ["CODINGS", "HOSTS", "HostKind"]

CODINGS = ("br", "gz")  # suffixes of compressed files, the smaller kind first


@dataclass(frozen=True, slots=True)
class HostKind:
    """One host.

    Args:
        limit_bytes: no file may be larger; None for no limit.
        codings: compressed files that are of use there. A host that compresses by itself sends no .br that lies there,
            but the page fetches the .gz of what the host sends as it is, such as models.
    """

    limit_bytes: int | None = None
    codings: tuple[str, ...] = CODINGS


HOSTS = {
    "": HostKind(),
    "cloudflare": HostKind(24 * 2**20, ("gz",)),  # refuses files over 25 MiB; some room for what it adds
    "github-pages": HostKind(95 * 2**20, ("gz",)),  # Git pushes no file over 100 MiB
    "netlify": HostKind(None, ("gz",)),
}
