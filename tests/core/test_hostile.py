"""Files that are broken, by accident or on purpose: InvalidModel with place and reason, soon, in little memory."""

import contextlib
import gzip
import os
import pickle
import random
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from onnxlet import protobuf, tensors
from onnxlet.errors import InvalidModel
from onnxlet.wire_format import MAX_DEPTH, Writer

DATA = Path(__file__).parent.parent / "data"


def model_of(nodes=(), inputs=("x",), outputs=("y",), **fields) -> onnx.ModelProto:
    infos = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in names] for names in (inputs, outputs)]
    graph = helper.make_graph(
        list(nodes) or [helper.make_node("Relu", ["x"], ["y"], name="relu")], "g", *infos, **fields
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def rich_model() -> bytes:
    """A small model with something of everything."""
    branch = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["b"])], "branch", [], [helper.make_tensor_value_info("b", 1, [2])]
    )
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("s", TensorProto.FLOAT, [2], [5.0, 6.0]),
        helper.make_tensor("i", TensorProto.INT64, [2, 2], [0, 0, 1, 1]),
        [2, 2],
    )
    proto = model_of(
        [
            helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch, name="if"),
            helper.make_node("Twice", ["z"], ["t"], domain="mine"),
            helper.make_node("MatMul", ["t", "s"], ["y"], name="mm"),
        ],
        initializer=[
            helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0]),
            helper.make_tensor("c", TensorProto.BOOL, [], [True]),
            helper.make_tensor("q", TensorProto.INT4, [3], [1, -8, 7]),
            helper.make_tensor("names", TensorProto.STRING, [2], [b"a", b"b"]),
            onnx.numpy_helper.from_array(np.arange(40, dtype=np.int64), "raw"),
        ],
        sparse_initializer=[sparse],
        value_info=[helper.make_tensor_value_info("t", TensorProto.FLOAT, ["n"])],
    )
    body = [helper.make_node("Add", ["a", "a"], ["b"])]
    proto.functions.append(helper.make_function("mine", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 21)]))
    proto.opset_import.add(domain="mine", version=1)
    return proto.SerializeToString()


RICH = rich_model()


def survives(data: bytes) -> bool:
    """Whether a file is taken. It must be refused with InvalidModel, or be usable to the end."""
    try:
        model = protobuf.load(data)
        for tensor in model.graph.initializers:
            tensors.to_array(tensor)
        for sparse in model.graph.sparse_initializers:
            tensors.to_dense(sparse)
    except InvalidModel:
        return False
    once = protobuf.dump(model)
    assert protobuf.dump(protobuf.load(once)) == once
    return True


def test_the_model_that_is_damaged_below_is_right_before():
    assert survives(RICH)


@settings(max_examples=1000, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(RICH) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_changed_bytes_are_refused_or_harmless(changes):
    data = bytearray(RICH)
    for at, byte in changes:
        data[at] = byte
    survives(bytes(data))


@settings(max_examples=1000, deadline=None)
@given(st.integers(0, len(RICH)), st.integers(0, len(RICH)), st.integers(0, len(RICH)))
def test_pieces_moved_doubled_or_lost_are_refused_or_harmless(a, b, c):
    start, end = sorted((a, b))
    survives(RICH[:start] + RICH[end:])
    survives(RICH[:c] + RICH[start:end] + RICH[c:])


@settings(max_examples=1000, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data):
    assert not survives(data)


def test_a_file_cut_anywhere_is_refused():
    last_field = onnx.ModelProto.FromString(RICH).functions[0].ByteSize() + 3
    for end in range(len(RICH)):
        assert survives(RICH[:end]) == (end == len(RICH) - last_field)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("H04_zero.onnx", "0 bytes"),
        ("H04_gzip_without_header.onnx", "compressed with gzip"),
        ("H04_truncated.onnx", "5587 bytes too early"),
        ("H04_truncated_tail7.onnx", "too early"),
        ("H04_crlf_damaged.onnx", "copied as text"),
    ],
)
def test_a_damaged_download_is_named(file, reason):
    with pytest.raises(InvalidModel, match=reason) as caught:
        protobuf.read(DATA / file)
    assert file in str(caught.value)


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (b"\xef\xbb\xbf\n<!DOCTYPE html><html>", "web page"),
        (b"<html><body>404", "web page"),
        (b'{"error": "not found"}', "JSON"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull"),
        (pickle.dumps({"a": 1}), "pickle"),
        (pickle.dumps({"a": 1}, protocol=2), "pickle"),
        (gzip.compress(RICH), "gzip"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"\x1c\0\0\0TFL3", "TensorFlow Lite"),
        (b"\x1c\0\0\0ORTM", r"\.ort"),
    ],
)
def test_other_kinds_of_file_are_recognized(start, reason):
    with pytest.raises(InvalidModel, match=reason):
        protobuf.load(start + bytes(600))


def test_a_pytorch_checkpoint_is_recognized(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.pt", "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02")
    with pytest.raises(InvalidModel, match=r"m\.pt: the file is a zip archive, such as a PyTorch checkpoint"):
        protobuf.read(tmp_path / "m.pt")


def add(name, inputs, outputs):
    return helper.make_node("Sum", inputs, outputs, name=name)


def tensor(**fields) -> TensorProto:
    return TensorProto(name="w", **{"data_type": TensorProto.FLOAT, "dims": [2], **fields})


def sparse(values=2, indices=(0, 3), shape=None, dims=(2, 2)) -> onnx.SparseTensorProto:
    return helper.make_sparse_tensor(
        helper.make_tensor("s", TensorProto.FLOAT, [values], [1.0] * values),
        helper.make_tensor("i", TensorProto.INT64, shape or [len(indices)], indices),
        list(dims),
    )


GRAPH_FAULTS = [
    (
        model_of([add("a", ["x", "c"], ["b"]), add("d", ["b"], ["c"]), add("e", ["c"], ["y"])]),
        r'circle: node "a" .*"d"',
    ),
    (model_of([add("a", ["y"], ["y"])]), 'in a circle: node "a"'),
    (model_of([add("a", ["nowhere"], ["y"])]), 'node "a" .*reads "nowhere", which no node'),
    (model_of([add("a", ["x"], ["y"]), add("b", ["x"], ["y"])]), 'node "b" .*gives "y", which node "a" .*gives too'),
    (model_of([add("a", ["x"], ["x"])]), 'gives "x", which is already the name of an input'),
    (model_of([add("a", ["x"], ["y", "y"])]), 'gives "y", which node "a"'),
    (model_of(inputs=["x", "x"]), 'input "x" stands twice'),
    (model_of(initializer=[tensor(float_data=[1, 2])] * 2), 'initializer "w" stands twice'),
    (model_of(outputs=["y", "z"]), 'output "z" is given by no'),
    (model_of([helper.make_node("", ["x"], ["y"])]), r"node\[0\]: has no op_type"),
    (model_of([helper.make_node("A", ["x"], ["y"], domain="d")]), 'does not import the operators of domain "d"'),
    (model_of(initializer=[tensor(raw_data=b"1234567")]), r'initializer\[0\] "w": has 7 bytes of data, expected 8'),
    (model_of(initializer=[tensor(float_data=[1, 2, 3])]), "has 12 bytes of data, expected 8"),
    (model_of(initializer=[tensor(dims=[2**40], raw_data=b"1234")]), "expected 4398046511104"),
    (model_of(initializer=[tensor(dims=[2**40, 2**40])]), "more elements than can be addressed"),
    (model_of(initializer=[tensor(dims=[2**62, 0])]), "more elements than can be addressed"),
    (model_of(initializer=[tensor(dims=[-1, -2], float_data=[1, 2])]), r"has dims \[-1, -2\], expected none below 0"),
    (model_of(initializer=[tensor(dims=[1] * 65, float_data=[1])]), "has 65 dims, expected at most 64"),
    (model_of(initializer=[tensor(data_type=99)]), "element type 99"),
    (model_of(initializer=[tensor(data_type=TensorProto.STRING, string_data=[b"a"])]), "has 1 strings, expected 2"),
    (model_of(sparse_initializer=[sparse(indices=(0, 4))]), r'"s": an index is outside of dims \[2, 2\]'),
    (model_of(sparse_initializer=[sparse(indices=(0, -1))]), "an index is outside"),
    (model_of(sparse_initializer=[sparse(indices=(0, 0, 0, 2), shape=[2, 2])]), "an index is outside"),
    (model_of(sparse_initializer=[sparse(indices=(3, 0))]), "not in ascending order"),
    (model_of(sparse_initializer=[sparse(indices=(1, 1))]), "or one stands twice"),
    (model_of(sparse_initializer=[sparse(indices=(1, 1, 1))]), r"indices are INT64 \[3\], expected INT64 \[2\]"),
    (model_of(sparse_initializer=[sparse(dims=(-2, 2))]), "expected none below 0"),
]


@pytest.mark.parametrize(("proto", "reason"), GRAPH_FAULTS, ids=[reason[:40] for _, reason in GRAPH_FAULTS])
def test_a_graph_that_breaks_a_rule_is_refused(proto, reason):
    with pytest.raises(InvalidModel, match=reason):
        protobuf.load(proto.SerializeToString())


def test_a_negative_dim_in_a_type_is_refused_but_minus_one_means_unknown():
    proto = model_of()
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    assert protobuf.load(proto.SerializeToString()).graph.inputs[0].type.shape == (None,)
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -5
    with pytest.raises(InvalidModel, match=r'graph.input\[0\] "x".type.*dim\[0\]: is -5'):
        protobuf.load(proto.SerializeToString())


def test_faults_in_a_subgraph_name_it():
    branch = helper.make_graph(
        [add("deep", ["nowhere"], ["b"])], "branch", [], [helper.make_tensor_value_info("b", 1, [])]
    )
    proto = model_of([helper.make_node("If", ["x"], ["y"], then_branch=branch, else_branch=branch)])
    with pytest.raises(InvalidModel, match='reads "nowhere"'):
        protobuf.load(proto.SerializeToString())


def test_a_sparse_tensor_of_absurd_size_is_not_written_out():
    model = protobuf.load(model_of(sparse_initializer=[sparse(dims=(2**40, 2))]).SerializeToString())
    with pytest.raises(InvalidModel, match="over 2147483648 bytes"):
        tensors.to_dense(model.graph.sparse_initializers[0])


def nested(wrap, depth: int) -> Writer:
    message = Writer()
    for _ in range(depth):
        message = wrap(message)
    return message


def test_deep_nesting_is_refused_before_the_stack_ends():
    def in_a_node(graph: Writer) -> Writer:
        attribute, node, outer = Writer(), Writer(), Writer()
        attribute.string(1, "body")
        attribute.message(6, graph)
        attribute.integer(20, 5)
        node.string(4, "Loop")
        node.message(5, attribute)
        outer.message(1, node)
        return outer

    def in_a_sequence(kind: Writer) -> Writer:
        sequence, outer = Writer(), Writer()
        sequence.message(1, kind)
        outer.message(4, sequence)
        return outer

    for depth in (MAX_DEPTH, 5000):
        model = Writer()
        model.message(7, nested(in_a_node, depth))
        with pytest.raises(InvalidModel, match="messages deep"):
            protobuf.load(b"".join(model.parts))
        model, graph, value = Writer(), Writer(), Writer()
        value.string(1, "x")
        value.message(2, nested(in_a_sequence, depth))
        graph.message(11, value)
        model.message(7, graph)
        with pytest.raises(InvalidModel, match="messages deep"):
            protobuf.load(b"".join(model.parts))


def calls(*functions: tuple[str, list[str]]) -> bytes:
    """A model whose functions call each other."""
    proto = model_of([helper.make_node(functions[0][0], ["x"], ["y"], domain="f")])
    proto.opset_import.add(domain="f", version=1)
    for name, called in functions:
        body = [helper.make_node(f, [f"v{i}"], [f"v{i + 1}"], domain="f") for i, f in enumerate(called)]
        body = body or [helper.make_node("Neg", ["v0"], ["v1"])]
        imports = [helper.make_opsetid("", 21), helper.make_opsetid("f", 1)]
        proto.functions.append(helper.make_function("f", name, ["v0"], [body[-1].output[0]], body, imports))
    return proto.SerializeToString()


def test_functions_that_call_themselves_are_refused():
    with pytest.raises(InvalidModel, match='function "A" calls itself'):
        protobuf.load(calls(("A", ["A"])))
    with pytest.raises(InvalidModel, match="A -> B -> A"):
        protobuf.load(calls(("A", ["B"]), ("B", ["A"])))


def test_functions_that_unfold_to_more_than_anybody_can_run_are_refused():
    doubling = [(f"F{i}", [f"F{i + 1}"] * 2) for i in range(40)] + [("F40", [])]
    with pytest.raises(InvalidModel, match="unfold to more than"):
        protobuf.load(calls(*doubling))
    chain = [(f"F{i}", [f"F{i + 1}"]) for i in range(2000)] + [("F2000", [])]
    with pytest.raises(InvalidModel, match="more than 64 deep"):
        protobuf.load(calls(*chain))


def test_a_large_circle_is_found_soon():
    count = 20_000
    ring = [add(f"n{i}", [f"v{i}"], [f"v{(i + 1) % count}"]) for i in range(count)]
    with pytest.raises(InvalidModel, match="circle"):
        protobuf.load(model_of([*ring, add("last", ["v0"], ["y"])]).SerializeToString())


def test_lies_about_sizes_cost_no_memory():
    tracemalloc.start()
    try:
        for proto, _ in GRAPH_FAULTS:
            with pytest.raises(InvalidModel):
                protobuf.load(proto.SerializeToString())
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_memory_is_bounded_by_a_multiple_of_the_file():
    """Many of the smallest fields there are, in places where each becomes an object."""
    count = 50_000
    files = {
        "empty nodes": b"\x3a" + varint(2 * count) + b"\x0a\x00" * count,
        "attribute ints": model_of([helper.make_node("A", ["x"], ["y"], ns=[1] * count)]).SerializeToString(),
        "unknown fields": model_of().SerializeToString() + b"\xf8\x3f\x01" * count,
        "packed numbers": model_of(
            initializer=[tensor(dims=[count], data_type=7, int64_data=[1] * count)]
        ).SerializeToString(),
        "names": model_of([helper.make_node("Sum", ["x"] * count, ["y"])]).SerializeToString(),
    }
    for what, data in files.items():
        tracemalloc.start()
        with contextlib.suppress(InvalidModel):
            protobuf.load(data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 64 * len(data), what


def varint(value: int) -> bytes:
    out = Writer()
    out.integer(1, value)
    return b"".join(out.parts)[1:]


# Tensors in other files


def external(location: str, **entries) -> bytes:
    proto = model_of(initializer=[tensor(data_location=TensorProto.EXTERNAL)])
    for key, value in {"location": location, **entries}.items():
        proto.graph.initializer[0].external_data.add(key=key, value=str(value))
    return proto.SerializeToString()


@pytest.fixture
def folder(tmp_path) -> Path:
    inside = tmp_path / "models"
    (inside / "parts").mkdir(parents=True)
    values = np.array([9, 9, 1, 2], np.float32).tobytes()
    for path in (inside / "w.bin", inside / "parts" / "w.bin", tmp_path / "secret.bin"):
        path.write_bytes(values)
    os.symlink("../secret.bin", inside / "link.bin")
    os.symlink("..", inside / "up")
    os.symlink("w.bin", inside / "alias.bin")
    return inside


@pytest.mark.parametrize("location", ["w.bin", "parts/w.bin", "./w.bin", "alias.bin"])
def test_external_data_inside_the_folder_is_read(folder, location):
    model = protobuf.load(external(location, offset=8, length=8), folder)
    assert tensors.to_array(model.graph.initializers[0]).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("location", "entries", "reason"),
    [
        ("../secret.bin", {}, "below the model's folder"),
        ("parts/../../secret.bin", {}, "below the model's folder"),
        ("..\\secret.bin", {}, "below the model's folder"),
        ("/etc/passwd", {}, "below the model's folder"),
        ("C:\\secret.bin", {}, "below the model's folder"),
        ("w.bin\0.txt", {}, "below the model's folder"),
        ("link.bin", {}, "a link that leaves"),
        ("up/secret.bin", {}, "a link that leaves"),
        ("missing.bin", {}, "not beside the model"),
        ("parts", {}, "not beside the model"),
        ("", {}, "no location"),
        ("w.bin", {"offset": 12}, "which has only 16"),
        ("w.bin", {"offset": 2**70}, "which has only 16"),
        ("w.bin", {"length": 4}, "has 4 bytes .*expected 8"),
        ("w.bin", {"length": 10**30}, "expected 8"),
        ("w.bin", {"offset": -8}, "below 0"),
        ("w.bin", {"offset": "many"}, "no number"),
        ("w.bin", {"offset": "9" * 5000}, "no number"),
    ],
)
def test_external_data_elsewhere_is_refused(folder, location, entries, reason):
    with pytest.raises(InvalidModel, match=reason) as caught:
        protobuf.load(external(location, **entries), folder)
    assert '"w"' in str(caught.value)


def test_without_a_folder_external_data_stays_where_it_is():
    data = external("w.bin", offset=8, length=8)
    model = protobuf.load(data)
    assert onnx.ModelProto.FromString(protobuf.dump(model)) == onnx.ModelProto.FromString(data)
    with pytest.raises(InvalidModel, match=r'tensor "w": its elements lie in "w\.bin"'):
        tensors.to_array(model.graph.initializers[0])


def test_weights_move_to_a_second_file_and_back(folder):
    rng = random.Random(0)
    arrays = {name: np.array([rng.random() for _ in range(size)]) for name, size in [("a", 700), ("b", 3), ("c", 900)]}
    proto = model_of(initializer=[onnx.numpy_helper.from_array(a, n) for n, a in arrays.items()])
    protobuf.save(protobuf.load(proto.SerializeToString()), folder / "m.onnx", external="m.data")
    assert (folder / "m.onnx").stat().st_size < 1000
    by_onnx = {t.name: t for t in onnx.load(folder / "m.onnx").graph.initializer}
    ours = {t.name: t for t in protobuf.read(folder / "m.onnx").graph.initializers}
    for name, array in arrays.items():
        assert onnx.numpy_helper.to_array(by_onnx[name]).tobytes() == array.tobytes()
        assert tensors.to_array(ours[name]).tobytes() == array.tobytes()
    assert [t.external and t.external.offset for t in ours.values()] == [0, None, 8192]
    whole = onnx.ModelProto.FromString(protobuf.dump(protobuf.read(folder / "m.onnx")))
    assert all(t.raw_data for t in whole.graph.initializer)
