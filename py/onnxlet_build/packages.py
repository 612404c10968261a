"""Which Python packages an app takes to the page: PEP 723 metadata in, pinned wheels out.

Packages of Pyodide's lock come as the lock says. Everything else is resolved here against PyPI: pip picks the newest
wheel that fits the page's Python and platform, one package at a time, and this module follows the dependencies:
only it knows the page's environment: pip would evaluate markers such as ``sys_platform == "emscripten"`` for the
machine that builds. There is no backtracking: where two packages disagree about a third, the build stops and says so.
"""

import json
import re
import shutil
import tomllib
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from email.parser import BytesHeaderParser
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, parse_wheel_filename

from onnxlet.errors import BuildError

from . import fetch, paths
from .progress import Reporter
from .runtime import Runtime

__all__ = ["PROVIDED", "Package", "forget_resolved", "resolve", "script_requirements"]

# In every page already: the core answers to onnxruntime's name, whatever version the app asks for.
PROVIDED = ("onnxlet", "onnxruntime")

# https://peps.python.org/pep-0723/, its reference pattern for a metadata block.
_BLOCK = re.compile(r"(?m)^# /// script\s*$\n((?:^#(?: .*)?$\n)*?)^# ///\s*$")


@dataclass(frozen=True, slots=True)
class Package:
    """A package in the page: its wheel in the cache, and what Pyodide's loader must know of it."""

    name: str
    version: str
    file: Path
    sha256: str
    imports: tuple[str, ...]
    depends: tuple[str, ...]
    install_dir: str = "site"
    package_type: str = "package"


@dataclass(slots=True)
class _Wanted:
    specifier: SpecifierSet = field(default_factory=SpecifierSet)
    extras: set[str] = field(default_factory=set)
    by: list[str] = field(default_factory=list)  # "app.py (scipy>=1.10)"


def script_requirements(source: str, where: str) -> list[str]:
    """The ``dependencies`` of a file's PEP 723 block; [] where it has none.

    Raises: BuildError: two blocks, or a block that is no TOML or holds no requirements.
    """
    blocks = _BLOCK.findall(source)
    if not blocks:
        return []
    if len(blocks) > 1:
        raise BuildError(f"{where}: has {len(blocks)} `# /// script` blocks, expected one; merge them")
    try:
        text = "\n".join(line[2:] for line in blocks[0].splitlines())
        dependencies = tomllib.loads(text).get("dependencies", [])
    except tomllib.TOMLDecodeError as error:
        raise BuildError(f"{where}: its `# /// script` block is not TOML: {error}") from error
    if not isinstance(dependencies, list) or not all(isinstance(d, str) for d in dependencies):
        raise BuildError(f"{where}: `dependencies` in its `# /// script` block must be a list of strings")
    return dependencies


def resolve(requirements: Iterable[tuple[str, str]], runtime: Runtime, report: Reporter) -> list[Package]:
    """Pinned wheels for requirements and all that they need, numpy always among them; sorted by name.

    Args:
        requirements: (PEP 508 requirement, who asks for it).
    Raises: BuildError: names every package that cannot be had, why, and what to do.
    """
    roots = [("numpy", "onnxlet"), *requirements]
    key = fetch.sha256(json.dumps([sorted(roots), runtime.pins["pyodide"]], sort_keys=True).encode())
    memory = paths.cache("resolved", f"{key}.json")
    if found := _remembered(memory):
        return found
    packages = _Resolver(runtime, report).run(roots)
    text = json.dumps([asdict(p) | {"file": p.file.name} for p in packages], indent=1)
    paths.write_whole(memory, text.encode())
    return packages


def forget_resolved() -> None:
    """Resolve anew from now on; the wheels themselves stay in the cache."""
    shutil.rmtree(paths.cache("resolved", "x").parent, ignore_errors=True)


def _remembered(memory: Path) -> list[Package] | None:
    if not memory.is_file():
        return None
    packages = []
    for entry in json.loads(memory.read_bytes()):
        file = fetch.cached(entry["file"], entry["sha256"])
        if file is None:
            return None
        entry |= {"file": file, "imports": tuple(entry["imports"]), "depends": tuple(entry["depends"])}
        packages.append(Package(**entry))
    return packages


class _Resolver:
    def __init__(self, runtime: Runtime, report: Reporter) -> None:
        self._runtime = runtime
        self._report = report
        self._lock = runtime.lock["packages"]
        self._wanted: dict[str, _Wanted] = {}
        self._chosen: dict[str, Package] = {}
        self._followed: dict[str, tuple[Package, frozenset[str]]] = {}
        self._failed: dict[str, str] = {}
        self._out_of_reach: dict[str, str] = {}  # packages of the lock that no source has
        version = runtime.pins["pyodide"]["python"]
        self._environment = {
            "implementation_name": "cpython",
            "implementation_version": f"{version}.0",
            "os_name": "posix",
            "platform_machine": "wasm32",
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Emscripten",
            "platform_version": "",
            "python_full_version": runtime.lock["info"]["python"],
            "python_version": version,
            "sys_platform": "emscripten",
        }

    def run(self, roots: Sequence[tuple[str, str]]) -> list[Package]:
        for requirement, by in roots:
            self._want(requirement, by, "")
        while todo := [name for name in self._wanted if name not in self._failed and not self._settled(name)]:
            self._choose(todo)
            for name in todo:
                if name in self._chosen:
                    self._follow(name)
        if self._failed:
            raise BuildError(self._say_failures())
        return sorted(self._chosen.values(), key=lambda p: p.name)

    def _settled(self, name: str) -> bool:
        chosen = self._chosen.get(name)
        return chosen is not None and self._followed.get(name) == (chosen, frozenset(self._wanted[name].extras))

    def _want(self, text: str, by: str, extra: str) -> str:
        """Note a requirement. Returns: the package's name, "" where the page's environment does not need it."""
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise BuildError(f"{by}: {text!r} is no requirement: {error}".splitlines()[0]) from error
        if requirement.marker and not requirement.marker.evaluate({**self._environment, "extra": extra}):
            return ""
        name = canonicalize_name(requirement.name)
        if name in PROVIDED:
            return ""
        wanted = self._wanted.setdefault(name, _Wanted())
        wanted.specifier &= requirement.specifier
        wanted.extras |= requirement.extras
        wanted.by.append(f"{by} ({text})")
        if requirement.url:
            self._failed[name] = "is asked for by address; ask for it by name and version"
        elif (chosen := self._chosen.get(name)) and not wanted.specifier.contains(chosen.version, prereleases=True):
            del self._chosen[name]  # a later requirement narrows the choice
        return name

    def _choose(self, names: Sequence[str]) -> None:
        missing = [name for name in names if name not in self._chosen]
        for name in [n for n in missing if n in self._lock]:
            self._choose_from_lock(name)
        if rest := [n for n in missing if n not in self._chosen and n not in self._failed]:
            with self._report.step(f"Resolving {', '.join(rest)}"):
                self._choose_from_pypi(rest)

    def _choose_from_lock(self, name: str) -> None:
        entry = self._lock[name]
        wanted = self._wanted[name]
        pure = entry["file_name"].endswith("-none-any.whl")
        if not wanted.specifier.contains(entry["version"], prereleases=True):
            if not pure:
                self._failed[name] = f"Pyodide {self._runtime.pins['pyodide']['version']} has {entry['version']} only"
            return
        try:
            file = self._runtime.wheel(name)
        except BuildError as error:
            # PyPI may have the same version in pure Python.
            self._out_of_reach[name] = str(error)
            wanted.specifier &= SpecifierSet(f"=={entry['version']}")
            return
        self._chosen[name] = Package(
            name=name,
            version=entry["version"],
            file=file,
            sha256=entry["sha256"],
            imports=tuple(entry["imports"]),
            depends=tuple(entry["depends"]),
            install_dir=entry["install_dir"],
            package_type=entry["package_type"],
        )

    def _choose_from_pypi(self, names: Sequence[str]) -> None:
        with paths.scratch(paths.cache("tmp", "x").parent) as folder:
            try:
                self._download(names, folder)
            except fetch.Unreachable:
                raise
            except BuildError:  # find out which: the first failure hides the others
                for name in names:
                    try:
                        self._download([name], folder)
                    except fetch.Unreachable:
                        raise
                    except BuildError as error:
                        self._failed[name] = self._why_not(name, str(error))
            for wheel in folder.glob("*.whl"):
                name, version, _, _ = parse_wheel_filename(wheel.name)
                data = wheel.read_bytes()
                file = fetch.keep(wheel.name, data)
                self._chosen[name] = Package(
                    name=name,
                    version=str(version),
                    file=file,
                    sha256=fetch.sha256(data),
                    imports=_top_level(file),
                    depends=(),
                )

    def _download(self, names: Sequence[str], folder: Path) -> None:
        pyodide = self._runtime.pins["pyodide"]
        tag = "cp" + pyodide["python"].replace(".", "")
        target = ["--python-version", pyodide["python"], "--implementation", "cp", "--abi", tag, "--abi", "abi3"]
        requirements = [f"{name}{self._wanted[name].specifier}" for name in names]
        fetch.pip_download(requirements, folder, *target, "--abi", "none", "--platform", pyodide["platform"])

    def _why_not(self, name: str, pip_says: str) -> str:
        if name in self._out_of_reach:
            return self._out_of_reach[name]
        if "No matching distribution" in pip_says or "Could not find a version" in pip_says:
            wants = self._wanted[name].specifier
            what = f"{name}{wants}" if wants else name
            return f"PyPI has no wheel of {what} in pure Python or for {self._runtime.pins['pyodide']['platform']}"
        return pip_says

    def _follow(self, name: str) -> None:
        """Ask for what the chosen package needs: the lock's word for its packages, else the wheel's metadata."""
        package, wanted = self._chosen[name], self._wanted[name]
        from_lock = self._lock.get(name, {}).get("sha256") == package.sha256
        asked = [(other, "") for other in package.depends] if from_lock else []
        texts = _requires(package.file) if package.file.suffix == ".whl" else []
        extras = sorted(wanted.extras) if from_lock else ["", *sorted(wanted.extras)]
        asked += [(text, extra) for extra in extras for text in texts]
        depends = {self._want(text, name, extra) for text, extra in asked} - {""}
        self._chosen[name] = replace(package, depends=tuple(sorted(depends)))
        self._followed[name] = (self._chosen[name], frozenset(wanted.extras))

    def _say_failures(self) -> str:
        lines = [
            f"{name}: {why}; asked for by {', '.join(self._wanted[name].by)}" for name, why in self._failed.items()
        ]
        one = len(lines) == 1
        head = f"{len(lines)} package{'' if one else 's'} cannot go to the page: {', '.join(self._failed)}."
        tail = (
            "Leave them out of the page: remove them from `dependencies` and import them only where `sys.platform` is "
            'not "emscripten", or use a package in pure Python or one that Pyodide has.'
        )
        return "\n  ".join([head, *lines, *([tail] if self._failed.keys() - self._out_of_reach.keys() else [])])


def _metadata(wheel: Path) -> list[tuple[str, str]]:
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n))
        return list(BytesHeaderParser().parsebytes(archive.read(name)).items())


def _requires(wheel: Path) -> list[str]:
    return [value for key, value in _metadata(wheel) if key == "Requires-Dist"]


def _top_level(wheel: Path) -> tuple[str, ...]:
    """The modules that a wheel brings: its top-level folders and files that Python can import."""
    with zipfile.ZipFile(wheel) as archive:
        firsts = {tuple(name.split("/", 1)) for name in archive.namelist()}
    names = {first[0] for first in firsts if len(first) == 2 and first[0].isidentifier()}
    names |= {first[0].split(".")[0] for first in firsts if len(first) == 1 and first[0].endswith((".py", ".so"))}
    return tuple(sorted(names))
