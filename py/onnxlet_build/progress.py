"""What a person sees while the build runs: spinners, bars, notes. Everything goes to stderr; results go to stdout."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn

__all__ = ["Reporter"]

QUIET_S = 10.0  # how long a log may say nothing


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
        if self.quiet or self._live:
            yield lambda _n: None
            return
        if not self.console.is_terminal:
            yield self._counting(text, total, unit)
            return
        columns = (TextColumn("{task.description}"), BarColumn())
        last = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
        with self._alive(), Progress(*columns, last, console=self.console, transient=True) as progress:
            task = progress.add_task(text, total=total)
            yield lambda n: progress.advance(task, n)

    def _counting(self, text: str, total: int, unit: str) -> Callable[[int], None]:
        """A line now and then, for logs: long work that says nothing looks like work that hangs."""
        done, said = 0, time.monotonic()

        def advance(n: int) -> None:
            nonlocal done, said
            done += n
            if time.monotonic() - said >= QUIET_S:
                said = time.monotonic()
                self.console.print(f"  {text}: {done:,} of {total:,} {unit}".rstrip(), markup=False, style="dim")

        return advance

    @contextmanager
    def _alive(self) -> Iterator[None]:
        self._live = True
        try:
            yield
        finally:
            self._live = False
