"""PyTorch modules become ONNX models that answer as they do, and what cannot is refused with the reason."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from onnxlet.errors import BuildError
from onnxlet_build import sources
from onnxlet_build.sources.torch import Torch


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


def from_function(function: Any) -> Any:
    """A module whose forward is the function."""

    class Module(torch.nn.Module):
        forward = staticmethod(function)

    return Module()


def run(export: sources.Export, feeds: dict[str, Any]) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(export.data, options, providers=["CPUExecutionProvider"])
    return session.run(None, {name: np.asarray(value) for name, value in feeds.items()})


def shapes(export: sources.Export) -> dict[str, list[int | str]]:
    graph = onnx.load_model_from_string(export.data).graph
    return {
        value.name: [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in (*graph.input, *graph.output)
    }


class Mlp(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        sizes = [torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64), torch.nn.ReLU()]
        self.layers = torch.nn.Sequential(*sizes, torch.nn.Dropout(), torch.nn.Linear(64, 10))

    def forward(self, x: Any, scale: Any = None, *, log: bool = False) -> dict[str, Any]:
        logits = self.layers(x)
        return {"logits": logits, "scores": logits.log_softmax(-1) if log else logits.softmax(-1)}


def test_a_module_gets_a_batch_of_any_size_and_the_names_of_its_parameters_and_keys() -> None:
    module = Mlp().train()
    module.layers[0].eval()  # a frozen layer stays one
    modes = [part.training for part in module.modules()]
    made = sources.export((module, torch.randn(1, 784)), "mlp.onnx")
    assert [part.training for part in module.modules()] == modes
    assert shapes(made) == {"x": ["batch", 784], "logits": ["batch", 10], "scores": ["batch", 10]}
    assert made.notes == ("exported with batch of any size",)
    assert made.verified.startswith(f"agrees with PyTorch {torch.__version__.partition('+')[0]} on 4 inputs (")
    assert made.verified.endswith(", of 2 sizes")
    assert made.samples[0]["x"].shape == (1, 784)
    x = torch.randn(4, 784)
    assert np.array_equal(run(made, {"x": x})[0].argmax(1), module.eval()(x)["logits"].argmax(1))


def test_the_file_tells_nothing_of_this_machine_and_is_old_enough_for_every_runtime() -> None:
    made = sources.export(Torch(Mlp(), torch.randn(2, 784), opset=21), "mlp.onnx")
    assert b"site-packages" not in made.data
    assert __file__.encode() not in made.data
    proto = onnx.load_model_from_string(made.data)
    assert proto.ir_version <= 10
    assert [entry.version for entry in proto.opset_import] == [21]


def test_inputs_may_be_a_dict_with_flags_and_nested_and_outputs_too() -> None:
    made = sources.export((Mlp(), {"x": torch.randn(2, 784), "log": True}), "mlp.onnx")
    assert list(made.samples[0]) == ["x"]
    assert run(made, made.samples[0])[1].max() < 0  # the flag was heeded

    nested = from_function(lambda pair, k: ({"sum": pair[0] + pair[1]["y"]}, [k * 2, None]))
    given = ((torch.ones(2, 3), {"y": np.ones((2, 3), np.float32)}), torch.ones(4, 2))
    made = sources.export((nested, given), "nested.onnx")
    assert shapes(made) == {
        **{"pair_0": ["batch", 3], "pair_1": ["batch", 3], "k": [4, 2]},
        **{"output_0": ["batch", 3], "output_1": [4, 2]},
    }


def test_axes_and_names_are_the_persons_where_she_gives_them() -> None:
    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = torch.nn.Embedding(50, 8), torch.nn.Embedding(12, 8)

        def forward(self, ids: Any, mask: Any) -> Any:
            known = self.words(ids) + self.places(torch.arange(ids.shape[1]))[None]
            return (known * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)

    axes = {name: {0: "batch", 1: "length"} for name in ("tokens", "mask")}
    inputs = {"ids": torch.randint(0, 50, (1, 7)), "mask": torch.ones(1, 7, dtype=torch.long)}
    module = Encoder()
    made = sources.export(
        Torch(module, inputs, dynamic=axes, input_names=["tokens", "mask"], output_names=["vector"]), "text.onnx"
    )
    assert shapes(made) == {"tokens": ["batch", "length"], "mask": ["batch", "length"], "vector": ["batch", 8]}
    ids, mask = torch.randint(0, 50, (3, 11)), torch.ones(3, 11, dtype=torch.long)
    np.testing.assert_allclose(run(made, {"tokens": ids, "mask": mask})[0], module(ids, mask).detach(), atol=1e-5)


def test_a_batch_that_the_module_fixes_stays_fixed_and_the_reason_is_said() -> None:
    made = sources.export((from_function(lambda x: x.reshape(2, 4, 3) + 1), torch.randn(2, 12)), "fixed.onnx")
    assert shapes(made)["x"] == [2, 12]
    assert made.notes[0] == "exported with every size fixed"
    assert made.notes[1].startswith("the module itself takes no other batch (RuntimeError: shape '[2, 4, 3]'")


def test_what_cannot_be_captured_is_traced_with_the_reason_and_the_tracers_doubts() -> None:
    def careful(x: Any) -> Any:
        if x.sum().isnan():
            raise ValueError("not a number")
        return x * 2

    made = sources.export((from_function(careful), torch.randn(2, 3)), "careful.onnx")
    assert made.notes[0] == "exported with batch of any size, traced"
    assert made.notes[1].startswith("batch of any size did not work (")
    assert "data-dependent" in made.notes[1]
    assert made.notes[2].startswith("the trace warned: Converting a tensor to a Python boolean")
    assert "on 19 inputs" in made.verified


def test_a_branch_on_values_that_a_trace_would_freeze_is_refused() -> None:
    module = from_function(lambda x: x + 1 if x.sum() > 0 else x - 1)
    with pytest.raises(BuildError) as caught:
        sources.export(Torch(module, torch.randn(2, 12), dynamic=False), "branch.onnx")
    text = str(caught.value)
    assert text.startswith("branch.onnx: PyTorch cannot export it: every size fixed did not work (")
    assert 'every size fixed, traced did not work (output "output" of its export differs from PyTorch' in text
    assert "expected" in text
    assert "a branch on values: torch.where" in text


def test_a_branch_on_the_batch_is_not_hidden_behind_a_batch_of_any_size() -> None:
    made = sources.export((from_function(lambda x: x * 2 if len(x) > 5 else x * 3), torch.randn(2, 3)), "branch.onnx")
    assert made.notes[0] == "exported with every size fixed"
    assert made.notes[1] == 'batch of any size did not work (axis 0 of input "x" must lie within 0 and 5)'
    assert made.notes[2].startswith('batch of any size, traced did not work (output "output" of its export differs')
    assert shapes(made)["x"] == [2, 3]


def test_a_module_may_write_into_its_inputs() -> None:
    made = sources.export((from_function(lambda x: x.add_(1)), torch.zeros(2, 3)), "add.onnx")
    assert made.samples[0]["x"].max() == 0
    assert run(made, {"x": np.ones((4, 3), np.float32)})[0].min() == 2


def test_exported_programs_and_their_files_keep_their_axes(tmp_path: Path) -> None:
    module = from_function(lambda x: {"twice": x * 2})
    program = torch.export.export(module, (torch.randn(4, 3),), dynamic_shapes=({0: torch.export.Dim("rows")},))
    torch.export.save(program, tmp_path / "twice.pt2")
    made = sources.export(tmp_path / "twice.pt2", "twice.onnx")
    assert list(shapes(made)) == ["x", "twice"]
    assert "of 3 sizes" in made.verified
    assert run(made, {"x": np.ones((7, 3), np.float32)})[0].shape == (7, 3)


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (lambda: Mlp(), "has no example inputs; return (module, inputs)"),
        (lambda: (Mlp(), torch.randn(1, 783)), "fails on its example inputs (float32[1, 783]): RuntimeError: mat1"),
        (lambda: (from_function(lambda x: x + torch.rand_like(x)), torch.ones(2)), "take what is random out of it"),
        (lambda: (from_function(lambda x: x.bfloat16()), torch.ones(2)), "bfloat16, which no browser runs"),
        (lambda: (from_function(lambda x: "text"), torch.ones(2)), "returns a str, expected tensors"),
        (lambda: torch.ones(3), "is a torch Tensor, expected a torch.nn.Module"),
        (lambda: Torch(Mlp(), torch.ones(1, 784), opset=23), "opset 23 is newer than every page reads; use at most 21"),
        (lambda: Torch(Mlp(), torch.ones(1, 784), dynamic={"y": {0: "n"}}), "dynamic= names 'y'; its inputs are x"),
        (lambda: Torch(Mlp(), torch.ones(1, 784), output_names=["a"]), "output_names has 1 names, expected 2"),
    ],
)
def test_what_is_no_model_is_refused_with_a_sentence(thing: Any, message: str) -> None:
    with pytest.raises(BuildError) as caught:
        sources.export(thing(), "m.onnx")
    assert message in str(caught.value)


@pytest.mark.parametrize(("file", "message"), [("w.pth", "write a model.py whose"), ("w.pt2", "is no exported progr")])
def test_files_that_hold_no_program_are_refused(
    tmp_path: Path, file: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / file).write_bytes(b"not a zip")
    with pytest.raises(BuildError, match=message):
        sources.export(str(tmp_path / file), "m.onnx")
    assert capfd.readouterr().err == ""  # nothing of PyTorch's own before our sentence
