"""CSV files and arrays as apps see them."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnxlet.errors import InvalidInput
from onnxlet.media.npy import read_npy, write_npy
from onnxlet.values import File, Table


def test_the_first_row_names_the_columns() -> None:
    table = Table.open(b"name,age\r\nAda,36\r\nBob,7\r\n")
    assert table.columns == ["name", "age"]
    assert table.rows == [["Ada", "36"], ["Bob", "7"]]
    assert table.column("age") == ["36", "7"]
    assert len(table) == 2


def test_a_first_row_with_a_number_is_data() -> None:
    table = Table.open(b"1.5,x\n2,y\n")
    assert table.columns == ["1", "2"]
    assert len(table) == 2
    assert Table.open(b"2019,2020\n1,2\n", header=True).columns == ["2019", "2020"]
    assert Table.open(b"a,b\n1,2\n", header=False).rows[0] == ["a", "b"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends_are_recognized(delimiter: str, end: str) -> None:
    rows = [["a", "b c", "d"], ["1,5", "x;y", "z|w"], ["", "line\nbreak", 'say "hi"']]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    table = Table.open(out.getvalue().encode())
    assert [table.columns, *table.rows] == rows


def test_decimal_commas_do_not_split_semicolon_files() -> None:
    assert Table.open(b"a;b\n1,5;2,5\n3,5;4,5\n").columns == ["a", "b"]


def test_one_column_needs_no_delimiter() -> None:
    assert Table.open(b"x\n1\n2\n").rows == [["1"], ["2"]]


@pytest.mark.parametrize(
    "data",
    [
        "größe,☃\n1,Ω\n".encode(),
        "größe,☃\n1,Ω\n".encode("utf-8-sig"),
        "größe,☃\n1,Ω\n".encode("utf-16"),
        b"\xfe\xff" + "größe,☃\n1,Ω\n".encode("utf-16-be"),
    ],
)
def test_every_unicode_encoding_with_or_without_mark_is_read(data: bytes) -> None:
    table = Table.open(data)
    assert (table.columns, table.rows) == (["größe", "☃"], [["1", "Ω"]])


def test_what_is_not_utf8_is_windows_1252() -> None:
    assert Table.open("größe,€\n1,2\n".encode("cp1252")).columns == ["größe", "€"]


def test_empty_lines_and_empty_trailing_cells_do_not_count() -> None:
    table = Table.open(b"\n\na,b\n\n1,2,,\n3,\n\n")
    assert table.rows == [["1", "2"], ["3", ""]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected CSV with at least one row, got 0 bytes without one"),
        (b"\n\n", "expected CSV with at least one row, got 2 bytes without one"),
        (b"a,b\n1,2\n\n3\n", "line 4 has 1 cells, expected 2 as in the first row"),
        (b"a,b\n1,2,3\n", "line 2 has 3 cells, expected 2"),
        (b'a,b\n"x\ny",2\n1\n', "line 4 has 1 cells"),
        (b'a,b\n"open,2\n', "line 2: unexpected end of data; check its quotes"),
        (b"PK\x03\x04\x00\x00", "expected CSV text, got binary data that starts with b'PK.*save it as CSV"),
        (b"a,b\n" + b"x" * 200_000 + b",2\n", "line 2: field larger than field limit"),
    ],
)
def test_a_broken_file_is_a_sentence_with_its_line(data: bytes, message: str) -> None:
    with pytest.raises(InvalidInput, match=f'table "t.csv": {message}'):
        Table.open(data, "t.csv")


def test_numbers_come_as_float32_in_the_order_asked_for() -> None:
    table = Table.open(b"a,name,b\n1,x,2.5\n-3e2,y, 4 \n")
    numbers = table.numeric(["b", "a"])
    assert numbers.dtype == np.float32
    assert numbers.tolist() == [[2.5, 1], [4, -300]]


def test_a_cell_that_is_no_number_is_named_by_row_and_column() -> None:
    table = Table.open(b"a,b\n1,2\n3,x\n5,\n")
    with pytest.raises(InvalidInput, match=r'table: row 2, column "b": expected a number, got \'x\''):
        table.numeric()
    with pytest.raises(InvalidInput, match=r'row 2, column "b": expected a number, got an empty cell; fill it in'):
        Table(table.columns, table.rows[::2]).numeric()
    assert np.isnan(Table(["a"], [[""], [None]]).numeric(missing=np.nan)).all()
    with pytest.raises(InvalidInput, match='no column "c"; it has a, b'):
        table.numeric(["c"])


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"row 2 has 1 cells, expected 2: a, b"):
        Table(["a", "b"], [[1, 2], [3]])
    with pytest.raises(InvalidInput, match="columns of one length, got a 1, b 2"):
        Table.from_dict({"a": [1], "b": [1, 2]})


def test_tables_are_made_of_columns_or_records() -> None:
    assert Table.from_dict({"a": [1, 2], "b": "xy"}).rows == [[1, "x"], [2, "y"]]
    assert Table.from_dict({}).rows == []
    table = Table.from_records([{"a": 1}, {"b": 2, "a": 3}])
    assert (table.columns, table.rows) == (["a", "b"], [[1, ""], [3, 2]])


# ------------------------------------------------------------------------------------------------------ arrays


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3),
        np.float16([[1]]),
        np.array(5),
        np.zeros((0, 3)),
        np.array(["a", "☃"]),
        np.arange(6).reshape(2, 3).T,
        np.array([1, 2], ">i4"),
        np.array([True]),
        np.array([1j]),
    ],
)
def test_arrays_come_back_from_npy(array: np.ndarray) -> None:
    again = read_npy(write_npy(array))
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(again, array)


def test_pickles_are_refused() -> None:
    out = io.BytesIO()
    np.save(out, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidInput, match=r"Object arrays cannot be loaded.*without objects"):
        read_npy(out.getvalue())
    with pytest.raises(InvalidInput, match="expected numbers or texts"):
        write_npy(np.array([{}], dtype=object))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"[1, 2]"])
def test_what_is_no_npy_is_named(data: bytes) -> None:
    with pytest.raises(InvalidInput, match=f"expected a .npy file, got {len(data)} bytes that start with"):
        read_npy(data)


def test_a_header_that_promises_terabytes_takes_no_memory() -> None:
    good = write_npy(np.arange(10, dtype=np.float32))
    with pytest.raises(InvalidInput, match="tensor: "):
        read_npy(good.replace(b"(10,), }       ", b"(9999999999,),}"))


# ------------------------------------------------------------------------------------------------------- files


def test_a_file_is_its_bytes_and_its_name(tmp_path: Path) -> None:
    path: Any = tmp_path / "O'Brien ☃ 100%.bin"
    path.write_bytes(b"\0\xff")
    file = File.open(path)
    assert (file.data, file.name, len(file), bytes(file)) == (b"\0\xff", path.name, 2, b"\0\xff")
    assert File.open(b"") == File(b"")
