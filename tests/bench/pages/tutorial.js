// A page as tutorials write it: Pyodide, then numpy, then ONNX Runtime Web, then the model, one after another.

import { loadPyodide } from "./pyodide/pyodide.mjs";

const { input, shape, output } = await (await fetch("assets/task.json")).json();
const pyodide = await loadPyodide();
await pyodide.loadPackage("numpy", { messageCallback: () => {} });
const values = pyodide.runPython(`
import numpy as np
(np.arange(${shape.reduce((a, b) => a * b, 1)}, dtype=np.float32) % 16).tolist()
`).toJs();

const ort = await import("./ort/ort.wasm.min.mjs");
ort.env.wasm.wasmPaths = new URL("./ort/", import.meta.url).href;
const session = await ort.InferenceSession.create("assets/model.onnx");
const answer = await session.run({ [input]: new ort.Tensor("float32", Float32Array.from(values), shape) });
pyodide.globals.set("scores", answer[output].data);
globalThis.answer = pyodide.runPython("int(np.argmax(np.asarray(scores)))");
globalThis.answered = performance.now();
document.title = "answered";
