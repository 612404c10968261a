// ONNX Runtime Web as plain JavaScript uses it, in a worker: the measure of what Python costs.

let ort;
const sessions = {};

onmessage = async ({ data: { entry, mjs, wasm, models, measure } }) => {
  if (entry) {
    ort = await import(entry);
    ort.env.wasm.wasmPaths = { mjs, wasm };
    ort.env.wasm.numThreads = 1;
    for (const [name, url] of Object.entries(models)) sessions[name] = await ort.InferenceSession.create(url);
    return postMessage({});
  }
  const { name, rows, width, runs } = measure;
  const x = new Float32Array(rows * width).fill(0.01);
  let first = 0;
  const begin = performance.now();
  for (let i = 0; i < runs; i++) {
    const { y } = await sessions[name].run({ x: new ort.Tensor("float32", x, [rows, width]) });
    first = y.data[0];
  }
  postMessage({ ms: (performance.now() - begin) / runs, first });
};
