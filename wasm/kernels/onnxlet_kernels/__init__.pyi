from collections.abc import Sequence

from typing_extensions import Buffer

OPERATORS: dict[str, tuple[int, str]]
"""By name: the number that code uses, and one letter an operand: r read, w written, x both; capital: may be absent."""

class Program:
    def __init__(
        self, code: Buffer, constants: Sequence[Buffer], arena_bytes: int, feeds: int, results: int
    ) -> None: ...
    def run(self, feeds: tuple[Buffer, ...], results: tuple[Buffer, ...], /) -> None: ...
    def profile(self, feeds: tuple[Buffer, ...], results: tuple[Buffer, ...], /) -> list[tuple[str, int]]: ...
