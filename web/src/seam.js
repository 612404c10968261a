/**
 * Makes everything in a worker that fetches a file of the site fetch it through Assets.
 *
 * Pyodide and ONNX Runtime Web download their own files, and what goes wrong there is silent: a missing pyodide.asm.wasm
 * leaves loadPyodide pending for ever, a wheel that is an HTML page is skipped. Both use only `fetch` and
 * `WebAssembly.instantiateStreaming`, so these two are where checked bytes, and modules that are compiled already, go in.
 * It also stands in for streaming compilation in browsers that lack it and on hosts that send .wasm with another MIME type.
 */

/** @import { Assets } from "./assets.js" */

/**
 * @param {Assets} assets
 * @returns {() => Promise<never>} gives a promise that rejects with the next file that fails; whoever waits for a library
 *   races against it
 */
export function fetchThrough(assets) {
  /** @type {WeakMap<Response, string>} answers whose body is a compiled module, by path */
  const modules = new WeakMap();
  const plainFetch = self.fetch.bind(self);
  const plainStreaming = WebAssembly.instantiateStreaming?.bind(WebAssembly);
  /** @type {(error: unknown) => void} */
  let fail = () => {};
  /** @type {Promise<never>} */
  let failed;
  const renew = () => {
    failed = new Promise((_, reject) => (fail = reject));
    failed.catch(() => {});
  };
  renew();

  self.fetch = async (input, init) => {
    const path = assets.pathOf(input instanceof Request ? input.url : input);
    if (path === null || init?.cache === "reload") return plainFetch(input, init);
    try {
      if (!path.endsWith(".wasm")) return new Response(await assets.bytes(path), { headers: { "content-type": mimeOf(path) } });
      await assets.wasm(path);
      const response = new Response(null, { headers: { "content-type": "application/wasm" } });
      modules.set(response, path);
      return response;
    } catch (error) {
      fail(error);
      renew();
      throw error;
    }
  };

  WebAssembly.instantiateStreaming = async (source, imports) => {
    const response = await source;
    const path = modules.get(response);
    if (path === undefined) {
      if (plainStreaming) return plainStreaming(response, imports);
      return WebAssembly.instantiate(await response.arrayBuffer(), imports);
    }
    const module = await assets.wasm(path);
    const instance = await WebAssembly.instantiate(module, imports);
    for (const value of [instance.exports, ...Object.values(imports ?? {})].flatMap((names) => Object.values(names))) {
      if (value instanceof WebAssembly.Memory) memories.add(value);
    }
    return { module, instance };
  };
  return () => failed;
}

/** Memories of the WebAssembly that came through here: Python's, and those of ONNX Runtime in this worker. @type {Set<WebAssembly.Memory>} */
const memories = new Set();

/** Bytes of all of them; they grow and never shrink. */
export function memoryBytes() {
  return [...memories].reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
}

/** @param {string} path */
function mimeOf(path) {
  if (/\.m?js$/.test(path)) return "text/javascript";
  if (path.endsWith(".json")) return "application/json";
  return "application/octet-stream";
}
