"""Ask ONNX Runtime Web which kernels it has: ``python -m tests.build.optimize.probe_web_kernels``, half a minute.

Every version of every operator, by itself in a model, is offered to the plain build (``wasm``), to the WebGPU build
without its CPU (``webgpu``), and to the CPU of that build (``fallback``). What the error says decides; no node runs.
Writes py/onnxlet_build/web_kernels.json, which web_kernels.py reads.
"""

import base64
import functools
import http.server
import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import onnx
import onnx.helper as h
from onnxruntime.capi import onnxruntime_pybind11_state as native

from onnxlet.dtypes import DataType, from_ort_type
from onnxlet_build.convert import MAX_OPSET
from onnxlet_build.web_kernels import ANY, OUTPUT, PATH, WAYS
from tests.browser.conftest import FLAGS, chromium

ROOT = Path(__file__).parents[3]
OLDEST_OPSET = 7  # ONNX Runtime promises nothing for older ones
BATCH = 200  # models a call: progress, and no message of many megabytes
_CONSTANT = h.make_tensor("", 1, [1], [0.0])
_BRANCH = h.make_graph([h.make_node("Constant", [], ["c"], value=_CONSTANT)], "b", [], [onnx.ValueInfoProto(name="c")])
_BODY = h.make_graph(
    [h.make_node("Identity", ["on"], ["again"]), h.make_node("Constant", [], ["c"], value=_CONSTANT)],
    "b",
    [h.make_tensor_value_info("i", 7, []), h.make_tensor_value_info("on", 9, [])],
    [h.make_tensor_value_info("again", 9, []), onnx.ValueInfoProto(name="c")],
)
ATTRIBUTES: dict[str, dict[str, Any]] = {  # what has to make sense before a kernel is looked for
    "BitShift": {"direction": "LEFT"},
    "Constant": {"value": _CONSTANT},
    "Einsum": {"equation": "i->i"},
    "If": {"then_branch": _BRANCH, "else_branch": _BRANCH},
    "Loop": {"body": _BODY},
    "MatMulNBits": {"K": 32, "N": 32, "bits": 4, "block_size": 32},
    "TfIdfVectorizer": {"mode": "TF", "ngram_counts": [0], "ngram_indexes": [0], "pool_int64s": [1]},
}
DEFAULTS = {"INT": 1, "INTS": [1, 1], "STRING": "x", "FLOAT": 1.0, "FLOATS": [1.0]}
GRAPHS = {"Scan", "SequenceMap", "BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"}  # not asked
KINDS = {DataType.FLOAT, DataType.FLOAT16, DataType.DOUBLE, DataType.BOOL, DataType.STRING, DataType.INT4}
KINDS |= {DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64, DataType.UINT4}
KINDS |= {DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.UINT64}
PREFERRED = ("tensor(float)", "tensor(int64)", "tensor(uint8)", "tensor(int32)", "tensor(bool)")

PAGE = """<!doctype html><script type="module">
import * as plain from "./ort.wasm.min.mjs";
import * as gpu from "./ort.jspi.min.mjs";
for (const ort of [plain, gpu]) {
  Object.assign(ort.env.wasm, {wasmPaths: "./", numThreads: 1});
  ort.env.logLevel = "fatal";
}
const ways = {
  wasm: [plain, {executionProviders: ["wasm"]}],
  webgpu: [gpu, {executionProviders: ["webgpu"], extra: {session: {disable_cpu_ep_fallback: "1"}}}],
  fallback: [gpu, {executionProviders: ["wasm"]}],
};
window.offer = async (way, models) => {
  const [ort, options] = ways[way], said = [];
  for (const model of models) {
    const bytes = Uint8Array.from(atob(model), (c) => c.charCodeAt(0));
    try {
      const more = {graphOptimizationLevel: "disabled", logSeverityLevel: 4};
      await (await ort.InferenceSession.create(bytes, {...more, ...options})).release();
      said.push("");
    } catch (error) {
      said.push(String(error.message ?? error));
    }
  }
  return said;
};
document.title = "ready";
</script>"""


class Probe(NamedTuple):
    """One operator, at one version, with one type; `by` as in web_kernels.py."""

    operator: str
    since: int
    kind: str
    by: int
    model: bytes


def probes() -> Iterator[Probe]:
    """What can be asked, in a fixed order."""
    versions: dict[tuple[str, str], list[Any]] = {}
    for schema in native.get_all_operator_schema():
        other = schema.deprecated or schema.name in GRAPHS or schema.name.endswith("_TRT")
        if schema.domain in ("", "com.microsoft") and not other:
            versions.setdefault((schema.domain, schema.name), []).append(schema)
    for (domain, name), schemas in sorted(versions.items()):
        schemas.sort(key=lambda s: s.since_version)
        for at, schema in enumerate(schemas):
            following = schemas[at + 1].since_version if at + 1 < len(schemas) else MAX_OPSET[""] + 1
            if schema.since_version <= MAX_OPSET[""] and (following > OLDEST_OPSET or domain):
                by, kinds = deciding(schema)
                for kind in kinds:
                    if model := one_node(schema, by, kind):
                        yield Probe(f"{domain or 'ai.onnx'}::{name}", schema.since_version, kind, by, model)


def deciding(schema: Any) -> tuple[int, list[str]]:
    """Which value's type decides (see web_kernels.py), and the types that it may have."""
    if schema.name in ("If", "Loop"):
        return ANY, ["tensor(float)"]
    several = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints if len(c.allowed_type_strs) > 1}
    by = next((at for at, p in enumerate(schema.inputs) if p.typeStr in several), OUTPUT)
    parameter = schema.inputs[by].typeStr if by >= 0 else schema.outputs[0].typeStr
    if parameter not in several:
        return ANY, ["tensor(float)"]
    return by, [k for k in sorted(several[parameter]) if from_ort_type(k) in KINDS]


def one_node(schema: Any, by: int, kind: str) -> bytes:
    """A model of one node; b"" where a value can be no tensor."""
    types = {} if by == ANY else {(schema.inputs[by] if by >= 0 else schema.outputs[0]).typeStr: kind}
    for constraint in schema.type_constraints:
        allowed = constraint.allowed_type_strs
        best = next((p for p in (kind, *PREFERRED) if p in allowed), allowed[0])
        types.setdefault(constraint.type_param_str, best)
    inputs = _names(schema.inputs, "i", schema.min_input, schema.name.startswith("QLinear"))
    outputs = _names(schema.outputs, "o", schema.min_output, schema.name == "EmbedLayerNormalization")
    if schema.name in ("If", "Loop"):
        inputs, outputs = (["i0"] if schema.name == "If" else ["", "i1"]), ["o0"]
    given, wanted = (
        [(n, from_ort_type(types.get(p.typeStr, p.typeStr))) for n, p in zip(names, parameters, strict=False)]
        for names, parameters in ((inputs, schema.inputs), (outputs, schema.outputs))
    )
    if any(element == DataType.UNDEFINED for _, element in (*given, *wanted)):
        return b""
    infers = schema.has_type_and_shape_inference_function
    attributes = {n: DEFAULTS.get(str(a.type).split(".")[1]) for n, a in schema.attributes.items() if a.required}
    attributes |= ATTRIBUTES.get(schema.name, {})
    if schema.name in ("Cast", "BitCast"):
        attributes["to"] = int(wanted[0][1])
    node = h.make_node(schema.name, inputs, outputs, name="probe", domain=schema.domain, **attributes)
    results = [onnx.ValueInfoProto(name=n) if infers else h.make_tensor_value_info(n, e, None) for n, e in wanted if n]
    graph = h.make_graph([node], "g", [h.make_tensor_value_info(n, e, None) for n, e in given if n], results)
    opset = 21 if schema.domain else max(schema.since_version, OLDEST_OPSET)
    opsets = [h.make_opsetid("", opset), h.make_opsetid("com.microsoft", 1)]
    return h.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def _names(parameters: Sequence[Any], prefix: str, least: int, everything: bool) -> list[str]:
    """Names for what a node must have, or for all; left out in between are empty."""
    needed = [at for at, p in enumerate(parameters) if everything or "Optional" not in str(p.option)]
    return [f"{prefix}{at}" if at in needed else "" for at in range(max(least, needed[-1] + 1 if needed else 0))]


def has_kernel(said: str) -> bool:
    """What a refusal means: a kernel that is there may still dislike a node that has no shapes and few attributes."""
    return not said or bool(re.search(r"/(core/providers|contrib_ops)/\w+/|/const_pointer_container.h", said))


@contextmanager
def runtimes() -> Iterator[Any]:
    """A page with both builds; its ``offer(way, models)`` gives what each model's creation said."""
    from playwright.sync_api import sync_playwright

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    folder = ROOT / "web/node_modules/onnxruntime-web/dist"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
            page = browser.new_page()
            page.route("**/probe.html", lambda route: route.fulfill(body=PAGE, content_type="text/html"))
            page.goto(f"http://127.0.0.1:{server.server_port}/probe.html")
            page.wait_for_function("() => document.title === 'ready'")
            yield page
            browser.close()
    finally:
        server.shutdown()


def ask(page: Any, way: str, asked: Sequence[Probe]) -> list[bool]:
    """Which of the probes have a kernel."""
    said: list[str] = []
    for at in range(0, len(asked), BATCH):
        models = [base64.b64encode(one.model).decode() for one in asked[at : at + BATCH]]
        said += page.evaluate("([way, models]) => offer(way, models)", [way, models])
    return [has_kernel(one) for one in said]


def main() -> None:
    asked = list(probes())
    with runtimes() as page:
        found = {way: ask(page, way, asked) for way in WAYS}
    table: dict[str, dict[int, dict[str, Any]]] = {}
    for at, one in enumerate(asked):
        version = table.setdefault(one.operator, {}).setdefault(one.since, {"by": one.by} | {way: [] for way in WAYS})
        for way in WAYS:
            if found[way][at]:
                version[way].append(one.kind.removeprefix("tensor(").removesuffix(")"))
    lines = []
    for name, versions in table.items():
        order = sorted(versions)
        changed = [v for i, v in enumerate(order) if not i or versions[v] != versions[order[i - 1]]]
        lines.append(f" {json.dumps(name)}: {json.dumps({v: versions[v] for v in changed})}")
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(asked)} asked; there are { ({way: sum(found[way]) for way in WAYS}) }: {PATH}")


if __name__ == "__main__":
    main()
