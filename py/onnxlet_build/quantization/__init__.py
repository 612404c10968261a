"""Recipes that make a model smaller, and what they need: ranges, accuracy, a search for the nodes that suffer.

`graphs` edits ONNX graphs and `integers` knows the numbers; `dynamic`, `static`, `weights` and `half` are the recipes,
which `recipes` lists; `calibrate`, `evaluate` and `sensitivity` run models in the workers of an executor.
`onnxlet_build.quantize` drives them.
"""
