"""Modules that come after the start."""

import sys
from pathlib import Path

import pytest

from onnxlet.late import LateFinder


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A package on the path as a start has it, and a folder for what comes late."""
    start, late = tmp_path / "start", tmp_path / "late"
    (start / "latepackage").mkdir(parents=True)
    (start / "latepackage" / "__init__.py").write_text("")
    late.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(start), str(late)])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    yield late
    for name in [name for name in sys.modules if name.startswith("late")]:
        del sys.modules[name]


def bringer(library: Path, brought: list[int]):
    def bring() -> None:
        brought.append(1)
        (library / "latepackage").mkdir(exist_ok=True)
        (library / "latepackage" / "inner.py").write_text("VALUE = 2")
        (library / "latemodule.py").write_text("VALUE = 1")

    return bring


def test_an_import_brings_what_it_needs(library):
    brought: list[int] = []
    names = {"latemodule", "latepackage.inner"}
    sys.meta_path.append(LateFinder(names, str(library), bringer(library, brought)))
    import latemodule  # type: ignore[import-not-found]

    assert (latemodule.VALUE, len(brought)) == (1, 1)


def test_a_package_that_was_there_gets_its_late_modules(library):
    sys.meta_path.append(LateFinder({"latepackage.inner"}, str(library), bringer(library, [])))
    from latepackage import inner  # type: ignore[import-not-found]

    assert inner.VALUE == 2


def test_modules_that_nobody_has_bring_nothing(library):
    brought: list[int] = []
    sys.meta_path.append(LateFinder({"latemodule"}, str(library), bringer(library, brought)))
    with pytest.raises(ModuleNotFoundError):
        import latemodule2  # type: ignore[import-not-found]  # noqa: F401
    assert brought == []


def test_what_cannot_be_fetched_is_an_import_error_with_the_reason(library):
    def bring() -> None:
        raise OSError("the host answered 404")

    sys.meta_path.append(LateFinder({"latemodule"}, str(library), bring))
    with pytest.raises(ImportError, match=r"latemodule: .* could not be had: the host answered 404"):
        import latemodule  # type: ignore[import-not-found]  # noqa: F401


def test_an_import_while_it_is_brought_does_without(library):
    def bring() -> None:
        with pytest.raises(ModuleNotFoundError):
            import latepackage.inner  # noqa: F401
        bringer(library, [])()

    sys.meta_path.append(LateFinder({"latemodule", "latepackage.inner"}, str(library), bring))
    import latemodule

    assert latemodule.VALUE == 1
