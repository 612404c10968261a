"""Reading and writing ONNX files, judged by the `onnx` package."""

import contextlib
import functools
import io
import time
import tracemalloc
import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from onnxlet import protobuf
from onnxlet.dtypes import DataType
from onnxlet.errors import InvalidModel
from onnxlet.model import OptionalType, SequenceType, TensorType
from onnxlet.wire_format import Message, Writer
from tests.core.protos import difference


@functools.cache
def node_models() -> dict[str, onnx.ModelProto]:
    """The models of ONNX's own node tests, by name."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return {case.name: case.model for case in load_model_tests(kind="node")}


def round_trip(proto: onnx.ModelProto) -> onnx.ModelProto:
    return onnx.ModelProto.FromString(protobuf.dump(protobuf.load(proto.SerializeToString())))


def graph_of(*nodes: onnx.NodeProto, **fields) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(list(nodes) or [helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y], **fields)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def test_every_model_of_onnxs_node_tests_is_the_same_after_reading_and_writing():
    models = node_models()
    assert len(models) >= 1884
    changed = {name: d for name, proto in models.items() if (d := difference(proto, round_trip(proto)))}
    assert changed == {}


def test_what_is_written_again_is_the_same_bytes():
    for proto in list(node_models().values())[::10]:
        once = protobuf.dump(protobuf.load(proto.SerializeToString()))
        assert protobuf.dump(protobuf.load(once)) == once


def test_every_kind_of_attribute_survives():
    tensor = helper.make_tensor("t", TensorProto.INT64, [2], [1, -(2**63)])
    graph = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["z"])], "sub", [], [helper.make_empty_tensor_value_info("z")]
    )
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("s", TensorProto.FLOAT, [1], [5.0]),
        helper.make_tensor("i", TensorProto.INT64, [1], [3]),
        [4],
    )
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.DOUBLE, [3, None, "k"]))
    node = helper.make_node(
        "Odd", ["x", "", "x"], ["y", ""], name="odd", domain="com.acme",
        f=0.1, i=-7, s="ü", t=tensor, g=graph, st=sparse, tp=kind,
        fs=[1.5, float("inf")], ns=[0, -1, 2**62], ss=["", "b"], ts=[tensor, tensor], gs=[graph], tps=[kind, kind],
    )  # fmt: skip
    node.attribute.add(name="empty", type=onnx.AttributeProto.INTS)
    node.attribute.add(name="sts", type=onnx.AttributeProto.SPARSE_TENSORS).sparse_tensors.append(sparse)
    node.overload = "o"
    node.doc_string = "why"
    node.metadata_props.add(key="k", value="v")
    proto = graph_of(node)
    proto.opset_import.add(domain="com.acme", version=1)
    assert difference(proto, round_trip(proto)) == ""
    read = protobuf.load(proto.SerializeToString()).graph.nodes[0].attributes
    assert read["i"].value == -7
    assert read["ns"].value == (0, -1, 2**62)
    assert read["ss"].value == (b"", b"b")
    assert read["f"].value == np.float32(0.1)
    assert read["empty"].value == ()


def test_everything_that_a_model_says_of_itself_survives():
    proto = graph_of(
        doc_string="doc",
        value_info=[helper.make_tensor_value_info("q", TensorProto.FLOAT8E5M2, [1, None, "b"])],
        initializer=[helper.make_tensor("w", TensorProto.STRING, [2], [b"\xff", "é".encode()])],
    )
    proto.producer_name, proto.producer_version, proto.domain = "me", "1", "org.example"
    proto.model_version, proto.doc_string = 2**40, "model"
    proto.metadata_props.add(key="names", value='["a"]')
    proto.graph.metadata_props.add(key="g", value="1")
    annotation = proto.graph.quantization_annotation.add(tensor_name="w")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    proto.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    proto.graph.input[0].type.denotation = "IMAGE"
    proto.graph.input.add(name="o").type.opaque_type.domain = "com.acme"
    proto.graph.input.add(name="m").type.map_type.key_type = TensorProto.INT64
    proto.graph.input[-1].type.map_type.value_type.CopyFrom(helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    proto.graph.input.add(name="sp").type.sparse_tensor_type.elem_type = TensorProto.FLOAT
    assert difference(proto, round_trip(proto)) == ""


def test_fields_without_a_name_here_are_written_back():
    proto = graph_of()
    proto.training_info.add().algorithm.name = "adam"
    proto.configuration.add(name="gpus", num_devices=2)
    proto.graph.node[0].device_configurations.add(configuration_id="gpus")
    later = onnx.ModelProto.FromString(proto.SerializeToString() + b"\xfa\x3f\x03new\x80\x40\x2a")  # fields 1023, 1024
    again = round_trip(later)
    assert difference(proto, again) == ""
    assert again.SerializeToString().endswith(b"\xfa\x3f\x03new\x80\x40\x2a")


def test_types_are_values():
    model = protobuf.load(node_models()["test_identity_opt"].SerializeToString())
    assert model.graph.inputs[0].type == OptionalType(SequenceType(TensorType(DataType.FLOAT, (5,))))


def test_a_function_survives_with_its_references():
    node = helper.make_node("Elu", ["x"], ["y"])
    node.attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope")
    proto = graph_of(helper.make_node("Leak", ["x"], ["y"], domain="mine", slope=0.5))
    function = helper.make_function("mine", "Leak", ["x"], ["y"], [node], [helper.make_opsetid("", 21)], ["slope"])
    function.attribute_proto.add().CopyFrom(helper.make_attribute("bias", 1.0))
    proto.functions.append(function)
    proto.opset_import.add(domain="mine", version=1)
    assert difference(proto, round_trip(proto)) == ""


def test_the_default_domain_has_one_name():
    proto = graph_of(helper.make_node("Relu", ["x"], ["y"], domain="ai.onnx"))
    proto.opset_import[0].domain = "ai.onnx"
    model = protobuf.load(proto.SerializeToString())
    assert model.opset_imports == {"": 21}
    assert model.graph.nodes[0].domain == ""


def test_files_older_than_ir_3_need_neither_opset_nor_attribute_types():
    proto = graph_of(helper.make_node("LeakyRelu", ["x"], ["y"], alpha=0.5))
    proto.ir_version = 2
    del proto.opset_import[:]
    proto.graph.node[0].attribute[0].ClearField("type")
    model = protobuf.load(proto.SerializeToString())
    assert model.opset_imports == {"": 1}
    assert model.graph.nodes[0].attributes["alpha"].value == 0.5


def test_numbers_are_read_packed_and_one_by_one():
    """Both ways are protobuf's; onnx packs tensors' numbers and does not pack attributes' and dims."""
    packed, single = Writer(), Writer()
    packed.blob(8, b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x80\x01")
    single.integers(8, [1, -1, 128])
    for ints in (packed, single):
        attribute = Writer()
        attribute.string(1, "ns")
        attribute.raw(*ints.parts)
        attribute.integer(20, 7)
        proto = graph_of()
        proto.graph.node[0].attribute.append(onnx.AttributeProto.FromString(b"".join(attribute.parts)))
        data = proto.SerializeToString()
        assert protobuf.load(data).graph.nodes[0].attributes["ns"].value == (1, -1, 128)


def test_a_message_in_two_pieces_is_one():
    data = graph_of().SerializeToString()
    more = onnx.ModelProto(graph=onnx.GraphProto(doc_string="second piece"))
    model = protobuf.load(data + more.SerializeToString())
    assert (model.graph.doc, len(model.graph.nodes)) == ("second piece", 1)


def test_unsorted_nodes_are_sorted():
    proto = graph_of(
        helper.make_node("Add", ["b", "a"], ["y"]),
        helper.make_node("Neg", ["a"], ["b"]),
        helper.make_node("Abs", ["x"], ["a"]),
    )
    model = protobuf.load(proto.SerializeToString())
    assert [node.op_type for node in model.graph.nodes] == ["Abs", "Neg", "Add"]


def test_weights_are_slices_of_the_file():
    weights = np.arange(1000, dtype=np.float32)
    data = graph_of(initializer=[onnx.numpy_helper.from_array(weights, "w")]).SerializeToString()
    tensor = protobuf.load(data).graph.initializers[0]
    assert isinstance(tensor.data, memoryview)
    assert tensor.data.obj is data
    assert bytes(tensor.data) == weights.tobytes()


def big_file(path, size_bytes: int) -> None:
    """A model whose one weight has `size_bytes` zero bytes that take no room on the disk."""
    size_bytes -= size_bytes % 4
    tensor, graph, model = Writer(), Writer(), Writer()
    tensor.integers(1, [size_bytes // 4])
    tensor.integer(2, DataType.FLOAT)
    tensor.string(8, "w")
    tensor.raw(b"\x4a" + varint(size_bytes))
    identity = helper.make_node("Identity", ["w"], ["y"]).SerializeToString()
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"]).SerializeToString()
    graph.blob(1, identity)
    graph.string(2, "g")
    graph.blob(12, output)
    graph.raw(b"\x2a" + varint(tensor.size + size_bytes), *tensor.parts)
    model.integer(1, 10)
    model.blob(8, helper.make_opsetid("", 21).SerializeToString())
    model.raw(b"\x3a" + varint(graph.size + size_bytes), *graph.parts)
    with path.open("wb") as file:
        file.writelines(model.parts)
        file.truncate(model.size + size_bytes)


def varint(value: int) -> bytes:
    out = Writer()
    out.integer(1, value)
    return b"".join(out.parts)[1:]


def test_a_model_of_500_mb_opens_without_reading_its_weights(tmp_path):
    path = tmp_path / "big.onnx"
    big_file(path, 500_000_000)
    begin = time.perf_counter()
    content = path.read_bytes()
    read_s = time.perf_counter() - begin
    assert len(content) > 500_000_000
    del content

    tracemalloc.start()
    begin = time.perf_counter()
    model = protobuf.read(path)
    open_s = time.perf_counter() - begin
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(model.graph.initializers[0].data) == 500_000_000
    assert peak < 1_000_000
    assert open_s < read_s


def test_writing_a_large_model_copies_its_weights_once(tmp_path):
    path = tmp_path / "big.onnx"
    big_file(path, 50_000_000)
    model = protobuf.read(path)
    tracemalloc.start()
    protobuf.save(model, tmp_path / "again.onnx")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert (tmp_path / "again.onnx").stat().st_size == path.stat().st_size


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")
    path.with_name("sub").mkdir()
    model = protobuf.load(graph_of().SerializeToString())
    with pytest.raises(InvalidModel, match="plain file name"):
        protobuf.save(model, path, external="sub/w.bin")
    assert path.read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx", "sub"]


def test_a_model_over_2_gib_says_how_it_can_be_saved(tmp_path):
    path = tmp_path / "huge.onnx"
    big_file(path, 2**31 + 4096)
    with pytest.raises(InvalidModel, match="save it with external="):
        protobuf.save(protobuf.read(path), tmp_path / "again.onnx")


@pytest.mark.parametrize("count", [*range(28, 40), 63, 64, 65, 1000, 5000])
def test_long_lists_of_numbers_are_read_to_their_end(count):
    """Lists of any length, of numbers of any length, between others."""
    rng = np.random.default_rng(count)
    ints = (rng.integers(-(2**63), 2**63 - 1, count) >> rng.integers(0, 64, count)).tolist()
    floats = rng.standard_normal(count).astype(np.float32).tolist()
    node = helper.make_node("Odd", ["x"], ["y"], a=ints, b=floats, c=ints[::-1], d=1)
    attributes = protobuf.load(graph_of(node).SerializeToString()).graph.nodes[0].attributes
    assert attributes["a"].value == tuple(ints)
    assert attributes["b"].value == tuple(floats)
    assert attributes["c"].value == tuple(ints[::-1])
    assert attributes["d"].value == 1
    assert difference(graph_of(node), round_trip(graph_of(node))) == ""


def test_two_fields_that_alternate_are_read_in_time():
    """Neither goes on for long, so each number costs the same."""
    message = Writer()
    for i in range(20_000):
        message.integers(8, [i] * (i % 3))
        message.integers(9, [i])
    data = memoryview(b"".join(message.parts))
    read = Message(data, 0, len(data), "m")
    assert read.varints(8).tolist() == [i for i in range(20_000) for _ in range(i % 3)]
    assert read.varints(9).tolist() == list(range(20_000))
