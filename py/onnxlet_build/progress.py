"""What a person sees while the build runs: spinners, bars, notes. Everything goes to stderr; results go to stdout."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn

__all__ = ["Reporter"]


class Reporter:
    """Where a long step tells how far it is.

    Args:
        quiet: show warnings only.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.console = Console(stderr=True, quiet=False, highlight=False)
        self.quiet = quiet
        self.warnings: list[str] = []
        self._live = False  # the terminal shows one moving thing at a time

    def note(self, text: str) -> None:
        """A line about what was done."""
        if not self.quiet:
            self.console.print(f"  {text}", markup=False, style="dim")

    def warn(self, text: str) -> None:
        """Something that the person should know, though the build goes on; said once."""
        if text not in self.warnings:
            self.warnings.append(text)
            self.console.print(f"warning: {text}", markup=False, style="yellow")

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """A spinner while the block runs. Steps may nest: the outer one is shown."""
        if self.quiet or self._live or not self.console.is_terminal:
            if not self.quiet and not self.console.is_terminal:
                self.console.print(text, markup=False, soft_wrap=True)
            yield
            return
        with self._alive(), self.console.status(escape(text)):
            yield

    @contextmanager
    def bar(self, text: str, total: int, *, unit: str = "") -> Iterator[Callable[[int], None]]:
        """A progress bar; the block calls what it gets with how much was done since.

        Args:
            unit: "bytes", or "" for a count.
        """
        if self.quiet or self._live or not self.console.is_terminal:
            yield lambda _n: None
            return
        columns = (TextColumn("{task.description}"), BarColumn())
        last = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
        with self._alive(), Progress(*columns, last, console=self.console, transient=True) as progress:
            task = progress.add_task(text, total=total)
            yield lambda n: progress.advance(task, n)

    @contextmanager
    def _alive(self) -> Iterator[None]:
        self._live = True
        try:
            yield
        finally:
            self._live = False
