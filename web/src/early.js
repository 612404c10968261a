/**
 * Stands in the head of an app's page (the build writes it there): begins what every visit needs, while the page itself is
 * still being read. handover.js looks at what comes and gives it to the worker. All of this is a guess of what the worker
 * will ask for: where it is wrong, or something fails, the worker loads what it needs as if nobody had begun.
 */
{
  /** @type {{root: string, site: string, early: import("./protocol.js").EarlyConfig}} */
  const { root, site, early } = JSON.parse(document.getElementById("onnxlet")?.textContent ?? "");
  const url = (/** @type {string} */ path) => new URL(root + path, document.baseURI).href;
  /** @type {import("./protocol.js").Early["files"]} */
  const files = new Map();

  const begin = () => {
    new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)); // throws where support.js refuses
    // Without JSPI ONNX Runtime may live in a second worker; a backend that is asked for may need other files.
    const jspi = "Suspending" in WebAssembly;
    const guess = jspi && !new URLSearchParams(location.search).has("backend");
    const parts = [early.python, (jspi && early.snapshot) || early.plain, ...(guess && early.ort ? [early.ort] : [])];
    const wasm = parts.flatMap((part) => part.wasm);
    const all = [...wasm, ...parts.flatMap((part) => part.files)];
    const worker = new Worker(url(early.worker), { type: "module", name: "onnxlet" });
    worker.postMessage({ early: { expect: all, imports: parts.flatMap((part) => part.imports).map(url) } });
    const manifest = ask(site);
    for (const path of all) {
      /** @type {import("./protocol.js").Begun} */
      const begun = { response: null, compiles: wasm.includes(path), module: null };
      files.set(path, begun);
      if (!begun.compiles) continue; // handover.js asks: more at once would leave small files without a connection
      begun.response = ask(path).then(letGo);
      begun.response.catch(() => {});
      begun.response.then((response) => (begun.module = compile(response)), () => {});
    }
    globalThis.onnxletEarly = { worker, site: manifest, files, failed: false };
    worker.onerror = (event) => {
      event.preventDefault();
      if (globalThis.onnxletEarly) globalThis.onnxletEarly.failed = true; // seats.js makes another, which tells why
    };
  };

  /** @param {string} path */
  const ask = (path) => {
    const response = fetch(url(path));
    response.catch(() => {}); // whoever takes it hears of it
    return response;
  };

  /**
   * Of a host that compresses nothing the headers are enough: handover.js takes the .gz beside the file.
   * @param {Response} response
   */
  const letGo = (response) => {
    const { headers } = response;
    const encoded = headers.has("content-encoding") || headers.has("x-onnxlet-sha256") || !headers.has("content-length");
    if (early.gz && response.ok && !encoded && "DecompressionStream" in globalThis) response.body?.cancel().catch(() => {});
    return response;
  };

  /**
   * @param {Response} response
   * @returns {import("./protocol.js").Begun["module"]}
   */
  const compile = (response) => {
    const { headers } = response;
    const streams = "compileStreaming" in WebAssembly && response.ok && headers.get("content-type") === "application/wasm";
    const checked = headers.has("x-onnxlet-sha256"); // by the service worker
    if (!streams || !(checked || headers.has("content-encoding"))) return null; // transport.js knows a smaller form
    return WebAssembly.compileStreaming(checked ? response : response.clone()).catch(() => null);
  };

  try {
    begin();
  } catch {
    // page.js says why nothing can run here
  }
}
