"""Tables of text cells, read from CSV."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..media.source import Source, read

__all__ = ["Table"]

_DELIMITERS = (",", ";", "\t", "|")


class Table:
    """Named columns and rows of cells.

    Args:
        columns: names, one a column.
        rows: each as long as columns; cells of any type (of a file, texts).
    Raises: InvalidInput: a row of another length.
    """

    def __init__(self, columns: Iterable[Any], rows: Iterable[Sequence[Any]]) -> None:
        self.columns = [str(column) for column in columns]
        self.rows: list[list[Any]] = [list(row) for row in rows]
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise InvalidInput(
                    f"table: row {number} has {len(row)} cells, expected {len(self.columns)}: {', '.join(self.columns)}"
                )
        self.source: bytes | None = None
        self.name = ""

    @classmethod
    def open(cls, source: Source, name: str = "", header: bool | None = None) -> Self:
        """Read a CSV file.

        The delimiter is the one of ``, ; tab |`` that splits the first rows evenly. UTF-8, UTF-16 with a byte order
        mark, else Windows-1252. Quotes hold delimiters, line breaks and doubled quotes. Empty lines do not count.

        Args:
            header: whether the first row names the columns; None: it does unless one of its cells is a number.
                Without a header columns are named "1", "2" ...
        Raises: InvalidInput: no rows, rows of different lengths, broken quotes, binary data.
        """
        data, name = read(source, name)
        where = f'table "{name}"' if name else "table"
        cells = _parse(_decode(data, where), where)
        if not cells:
            raise InvalidInput(f"{where}: expected CSV with at least one row, got {len(data):,} bytes without one")
        if header is None:
            header = not any(_is_number(cell) for cell in cells[0][1])
        width = len(cells[0][1])
        columns = cells[0][1] if header else [str(i) for i in range(1, width + 1)]
        for line, row in cells:
            while len(row) > width and not row[-1]:  # spreadsheets leave empty cells behind
                row.pop()
            if len(row) != width:
                raise InvalidInput(f"{where}: line {line} has {len(row)} cells, expected {width} as in the first row")
        table = cls(columns, [row for _, row in cells[1 if header else 0 :]])
        table.source, table.name = data, name
        return table

    @classmethod
    def from_dict(cls, columns: Mapping[str, Iterable[Any]]) -> Self:
        """Columns by name, all of one length."""
        lists = [list(values) for values in columns.values()]
        if len({len(values) for values in lists}) > 1:
            lengths = ", ".join(f"{name} {len(values)}" for name, values in zip(columns, lists, strict=True))
            raise InvalidInput(f"table: expected columns of one length, got {lengths}")
        return cls(columns, list(zip(*lists, strict=True)))

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]]) -> Self:
        """Rows as mappings; the columns are all keys in order of appearance, missing cells are empty."""
        records = list(records)
        columns = list(dict.fromkeys(key for record in records for key in record))
        return cls(columns, [[record.get(column, "") for column in columns] for record in records])

    def column(self, name: str) -> list[Any]:
        """The cells of one column."""
        index = self._index(name)
        return [row[index] for row in self.rows]

    def numeric(self, columns: Sequence[str] | None = None, missing: float | None = None) -> Array:
        """The cells as numbers.

        Args:
            columns: which, in this order; None: all.
            missing: what an empty cell counts as; None: it is an error.
        Returns: float32 [rows, columns].
        Raises: InvalidInput: naming row (from 1) and column.
        """
        names = self.columns if columns is None else list(columns)
        indices = [self._index(name) for name in names]
        out = np.empty((len(self.rows), len(names)), np.float32)
        for r, row in enumerate(self.rows):
            for c, index in enumerate(indices):
                out[r, c] = _number(row[index], missing, r + 1, names[c])
        return out

    def to_csv(self) -> str:
        """CSV text with a header, commas and CRLF line ends (RFC 4180)."""
        import csv

        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return out.getvalue()

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<Table {len(self.rows)} rows x {', '.join(self.columns)}>"

    def _index(self, name: str) -> int:
        if name not in self.columns:
            raise InvalidInput(f'table: no column "{name}"; it has {", ".join(self.columns)}')
        return self.columns.index(name)


def _decode(data: bytes, where: str) -> str:
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if utf16 else "utf-8-sig"
    if not utf16 and b"\0" in data:
        raise InvalidInput(f"{where}: expected CSV text, got binary data that starts with {data[:8]!r}; save it as CSV")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")  # what spreadsheets on Windows write without asking


def _parse(text: str, where: str) -> list[tuple[int, list[str]]]:
    """(line, cells) of every row that is not empty."""
    import csv

    delimiter = _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows = []
    line = 1
    try:
        for row in reader:
            if row:
                rows.append((line, row))
            line = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInput(f"{where}: line {line}: {error}; check its quotes") from None
    return rows


def _delimiter(text: str) -> str:
    """The delimiter with the most cells in rows of equal length, counted over the first rows."""
    import csv

    best, best_score = ",", 0
    for delimiter in _DELIMITERS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        lengths = []
        try:
            for row in reader:
                if row:
                    lengths.append(len(row))
                if len(lengths) == 20:
                    break
        except csv.Error:
            continue
        score = lengths[0] * 2 - (len(set(lengths)) > 1) if lengths and lengths[0] > 1 else 0
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _number(cell: Any, missing: float | None, row: int, column: str) -> float:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        if missing is None:
            raise InvalidInput(f'table: row {row}, column "{column}": expected a number, got an empty cell; fill it in')
        return missing
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise InvalidInput(f'table: row {row}, column "{column}": expected a number, got {cell!r}') from None
