"""No operator is missing, and every signature says what the spec says."""

import inspect

import onnx
import pytest

from onnxlet import ops
from onnxlet.ops import registry

ops.load_all()

OLDEST = 7  # opset of ai.onnx below which no semantics are kept

EXCEPTIONS = {
    "Gradient": "needs the derivative of a graph: a training operator that no inference runtime has",
}
DEFAULTS = {
    ("RNN", "activations"): "the spec's list is for two directions; one direction takes half of it",
}


def schemas():
    return [s for s in onnx.defs.get_all_schemas_with_history() if not s.deprecated and s.name not in EXCEPTIONS]


def entry(schema):
    """What is registered for a version of an operator; None for ai.onnx's before `OLDEST`."""
    if schema.domain == "" and schema.since_version < OLDEST:
        newer = [
            s for s in schemas() if (s.domain, s.name) == ("", schema.name) and s.since_version > schema.since_version
        ]
        if any(s.since_version <= OLDEST for s in newer):
            return None
    return ops.find(schema.domain, schema.name, max(schema.since_version, OLDEST if schema.domain == "" else 1))


def test_every_operator_of_the_installed_onnx_is_there_in_every_version():
    for schema in schemas():
        entry(schema)  # raises UnsupportedOp


def test_signatures_know_every_attribute_and_require_no_optional_input():
    wrong = []
    for schema in schemas():
        found = entry(schema)
        if found is None or found.open_attributes:
            continue
        unknown = set(schema.attributes) - found.attributes
        required = [i.name for i in schema.inputs if i.option == onnx.defs.OpSchema.FormalParameterOption.Single]
        named = [i for i in schema.inputs if i.option != onnx.defs.OpSchema.FormalParameterOption.Variadic]
        if unknown or len(found.needed) > len(required) or (len(found.inputs) < len(named) and not found.variadic):
            wrong.append((schema.name, schema.since_version, unknown, found.inputs))
    assert not wrong


def test_defaults_of_attributes_are_the_specs():
    wrong = []
    for schema in onnx.defs.get_all_schemas():
        if schema.name in EXCEPTIONS or schema.deprecated:
            continue
        parameters = inspect.signature(entry(schema).function).parameters
        for name, attribute in schema.attributes.items():
            if not attribute.default_value.type or name not in parameters or (schema.name, name) in DEFAULTS:
                continue
            value = onnx.helper.get_attribute_value(attribute.default_value)
            value = value.decode() if isinstance(value, bytes) else tuple(value) if isinstance(value, list) else value
            ours = parameters[name].default
            if ours != (pytest.approx(value, rel=1e-6) if isinstance(value, float) else value):
                wrong.append((schema.name, name, ours, value))
    assert not wrong


def test_operators_say_where_they_are_specified():
    silent = [
        f"{domain}::{name}"
        for (domain, name), versions in registry._TABLE.items()
        for v in versions
        if v.builtin and not (v.function.__doc__ or "").strip()
    ]
    assert not silent
