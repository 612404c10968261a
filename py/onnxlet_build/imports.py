"""Which modules a Python file must find when it is imported, and whether the page has them."""

import ast
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from onnxlet.errors import BuildError

from .packages import Package

__all__ = ["check_imports", "needs_late", "required_imports"]

# In every page, beside the standard library.
_ALWAYS = {"js", "numpy", "onnxlet", "onnxruntime", "pyodide", "pyodide_js", "_pyodide", "__future__"}

# Of the standard library, what Pyodide 314 lacks, and what left Python before 3.14.
_NOT_IN_PYODIDE = {
    *("curses", "dbm", "ensurepip", "idlelib", "msilib", "msvcrt", "nt", "readline", "resource", "syslog"),
    *("tkinter", "turtle", "turtledemo", "venv", "winreg", "winsound"),
    *("aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "distutils", "imghdr", "imp"),
    *("lib2to3", "mailcap", "nis", "nntplib", "ossaudiodev", "pipes", "smtpd", "sndhdr", "spwd", "sunau"),
    *("telnetlib", "uu", "xdrlib"),
}


def required_imports(source: str, path: Path) -> dict[str, int]:
    """Top-level modules imported while the file itself is imported -> line.

    Imports inside functions and inside ``try`` are left out: whoever writes those knows that they may fail.
    Raises: BuildError: the file is not Python.
    """
    try:
        tree = ast.parse(source, str(path))
    except (SyntaxError, ValueError) as error:
        line = f" line {error.lineno}:" if isinstance(error, SyntaxError) and error.lineno else ""
        raise BuildError(f"{path}:{line} is not Python: {getattr(error, 'msg', error)}") from error
    found: dict[str, int] = {}
    for node in _at_import(tree.body):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            names = [node.module] if node.module and not node.level else []
        for name in names:
            found.setdefault(name.split(".")[0], node.lineno)
    return found


def needs_late(files: Iterable[Path], packages: Collection[str], late: Collection[str]) -> bool:
    """Whether an app should have the whole of Python's library as it starts, because it imports something of the rest.

    A guess that costs time only: an import that it does not foresee finds its module too (onnxlet/late.py).

    Args:
        files: the app's; those that are no Python are passed over.
        packages: the app's, which import what they want; Pillow needs nothing late.
        late: the modules that a start does without.
    """
    if set(packages) - {"pillow"}:
        return True
    texts = [path.read_text(encoding="utf-8-sig") for path in files if path.suffix == ".py"]
    return any(name in late for text in texts for name in _mentioned(ast.parse(text)))


def _mentioned(tree: ast.AST) -> Iterator[str]:
    """Modules that are imported anywhere, and numpy's that are reached as attributes, such as np.random."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("np", "numpy"):
            yield f"numpy.{node.attr}"


def _at_import(body: Iterable[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If):
            yield from () if _is_main_guard(node) else _at_import([*node.body, *node.orelse])
        elif isinstance(node, ast.With | ast.ClassDef):
            yield from _at_import(node.body)


def _is_main_guard(node: ast.If) -> bool:
    """``if __name__ == ...`` and ``if TYPE_CHECKING`` and any question about ``sys.platform``."""
    text = ast.unparse(node.test)
    return "__name__" in text or "TYPE_CHECKING" in text or "sys.platform" in text


def check_imports(files: Iterable[Path], folder: Path, packages: Iterable[Package], lock: Mapping[str, Any]) -> None:
    """See that the page will find every module that an app's files import.

    Args:
        files: the app's Python files.
        folder: the app's folder; modules in it travel along.
        packages: what the app's page has.
        lock: Pyodide's packages, to say which one brings a module.
    Raises: BuildError: names each module that would be missing, and the remedy.
    """
    here = {module for package in packages for module in package.imports} | _ALWAYS
    here |= set(sys.stdlib_module_names) - _NOT_IN_PYODIDE
    here |= {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    missing: dict[str, str] = {}
    for path in files:
        for module, line in required_imports(path.read_text(encoding="utf-8-sig"), path).items():
            if module not in here:
                missing.setdefault(module, f"{path.name} line {line}")
    if not missing:
        return
    by_import = {module: name for name, entry in lock.items() for module in entry["imports"]}
    lines = []
    for module, where in missing.items():
        if module in _NOT_IN_PYODIDE:
            remedy = "Python in the page has no such module; do without it, or import it inside `try`"
        else:
            name = by_import.get(module, module)
            remedy = f'add "{name}" to `dependencies` in a `# /// script` block, or import it inside `try`'
        lines.append(f"{module} ({where}): {remedy}")
    count = "a module" if len(missing) == 1 else f"{len(missing)} modules"
    raise BuildError("\n  ".join([f"{folder.name}: imports {count} that the page will not have:", *lines]))
