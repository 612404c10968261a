// A page as tutorials write it: Pyodide, then numpy, then ONNX Runtime Web, then the model, one after another.

import { loadPyodide } from "./pyodide/pyodide.mjs";
import { prepare } from "./input.js";

const done = (stage) => performance.mark(`onnxlet:${stage}`);

try {
  const { input, output } = JSON.parse(document.getElementById("task").textContent);
  const names = await (await fetch("assets/names.json")).json();
  const pyodide = await loadPyodide();
  done("python");
  await pyodide.loadPackage("numpy", { messageCallback: () => {} });
  pyodide.runPython("import numpy as np");
  done("numpy");

  const ort = await import("./ort/ort.wasm.min.mjs");
  ort.env.wasm.wasmPaths = new URL("./ort/", import.meta.url).href;
  const session = await ort.InferenceSession.create("assets/model.onnx");
  done("session");

  const { data, dims } = await prepare("assets/example.png");
  pyodide.globals.set("given", data);
  const x = pyodide.runPython("np.asarray(given.to_py(), np.float32)").toJs();
  const answer = await session.run({ [input]: new ort.Tensor("float32", x, dims) });
  pyodide.globals.set("scores", answer[output].data);
  const best = pyodide.runPython("int(np.argmax(np.asarray(scores.to_py())))");
  document.getElementById("answer").textContent = names[best];
  done("answer");
} catch (error) {
  document.getElementById("failure").textContent = error.stack;
}
