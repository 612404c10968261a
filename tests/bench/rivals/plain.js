// ONNX Runtime Web alone, written by hand and with care: everything is asked for at once, WebAssembly compiles while it
// comes, and the input is prepared meanwhile. The fastest that a page with this runtime can be without much more trouble.

import * as ort from "./ort/ort.wasm.min.mjs";
import { prepare } from "./input.js";

const done = (stage) => performance.mark(`onnxlet:${stage}`);

async function open() {
  ort.env.wasm.wasmPaths = new URL("./ort/", import.meta.url).href;
  ort.env.wasm.numThreads = 1;
  const session = await ort.InferenceSession.create("assets/model.onnx", { executionProviders: ["wasm"] });
  done("session");
  return session;
}

async function picture() {
  const prepared = await prepare("assets/example.png");
  done("input");
  return prepared;
}

try {
  done("page");
  const { input, output } = JSON.parse(document.getElementById("task").textContent);
  const names = fetch("assets/names.json").then((response) => response.json());
  const [session, { data, dims }] = await Promise.all([open(), picture()]);
  const answer = await session.run({ [input]: new ort.Tensor("float32", data, dims) });
  const scores = answer[output].data;
  document.getElementById("answer").textContent = (await names)[scores.indexOf(Math.max(...scores))];
  done("answer");
} catch (error) {
  document.getElementById("failure").textContent = error.stack;
}
