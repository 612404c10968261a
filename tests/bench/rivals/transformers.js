// Transformers.js as its documentation has it, with its files and the model on this host.

import { env, pipeline } from "./transformers.min.js";

const done = (stage) => performance.mark(`onnxlet:${stage}`);
const here = (path) => new URL(path, import.meta.url).href;

try {
  done("page");
  env.allowLocalModels = true;
  env.allowRemoteModels = false;
  env.localModelPath = new URL("models/", import.meta.url).pathname; // of whole addresses it finds no processor
  env.backends.onnx.wasm.wasmPaths = {
    mjs: here("ort-wasm-simd-threaded.asyncify.mjs"),
    wasm: here("ort-wasm-simd-threaded.asyncify.wasm"),
  };
  const classifier = await pipeline("image-classification", "photo", { device: "wasm", dtype: "fp32" });
  done("session");
  const [best] = await classifier(here("example.png"));
  document.getElementById("answer").textContent = best.label;
  done("answer");
} catch (error) {
  document.getElementById("failure").textContent = error.stack;
}
