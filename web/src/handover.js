/**
 * The page's part in its start: takes what early.js began, looks at every file as Assets does, and hands it to the worker.
 *
 * WebAssembly is compiled on this thread, while it comes: in the worker that takes longer, and nothing else is to do here. A
 * file that is wrong is not handed on: the worker asks for it itself, past the HTTP cache, and says what is wrong with it.
 */

import { receive } from "./download.js";
import { keep } from "./keep.js";
import { VERIFIED, fetchFile } from "./transport.js";

/** @import { Begun, Handed, Site, ToWorker } from "./protocol.js" */

/** How often the worker hears of bytes. */
const NEWS_MS = 50;

/**
 * Ask for what early.js left.
 * @param {string} root absolute URL, ending in "/"
 * @returns {Promise<Response> | undefined} the manifest's answer, where it was asked for already
 */
export function goOn(root) {
  const early = globalThis.onnxletEarly;
  for (const [path, begun] of early?.files ?? []) {
    begun.response ??= fetch(new URL(path, root));
    begun.response.catch(() => {}); // take() hears of it
  }
  return early?.site;
}

/** The worker that early.js started, once. @returns {Worker | null} */
export function earlyWorker() {
  const early = globalThis.onnxletEarly;
  const worker = early?.worker ?? null;
  if (!early || !worker) return null;
  early.worker = null;
  worker.onerror = null;
  return early.failed ? null : worker;
}

/**
 * Hand every file to the worker as it comes.
 * @param {Site} site
 * @param {string} root absolute URL, ending in "/"
 */
export function handOver(site, root) {
  const { worker, files } = globalThis.onnxletEarly ?? {};
  if (!worker || !files) return;
  for (const [path, begun] of files) {
    const tell = (/** @type {ToWorker["early"]} */ early, /** @type {Transferable[]} */ moved = []) => worker.postMessage({ early }, moved);
    void take(site, root, path, begun, progress((received) => tell({ path, received }))).then(
      (file) => tell({ path, file }, "bytes" in file ? [file.bytes.buffer] : []),
      () => tell({ path, file: null }),
    );
  }
  files.clear();
}

/**
 * @param {Site} site
 * @param {string} root
 * @param {string} path
 * @param {Begun} begun
 * @param {(received: number) => void} onBytes
 * @returns {Promise<Handed>}
 * @throws what is wrong with it
 */
async function take(site, root, path, begun, onBytes) {
  const expected = site.files[path];
  if (!expected) throw new Error(`${path} is of another build`);
  const first = (await begun.response) ?? undefined;
  if (first?.headers.get(VERIFIED) === expected.sha256) {
    const module = await begun.module;
    if (module) return { module };
  }
  const response = await fetchFile(new URL(path, root).href, expected, {}, first);
  const compiling = (response === first && begun.module) || (begun.compiles && compile(response));
  const { bytes, kept } = await receive(response, path, expected, onBytes);
  if (!kept && "serviceWorker" in navigator) keep(site, root, path, bytes);
  const module = await compiling;
  return module ? { module } : { bytes };
}

/** @param {Response} response that nobody has read @returns {Begun["module"]} */
function compile(response) {
  const streams = "compileStreaming" in WebAssembly && response.headers.get("content-type") === "application/wasm";
  return streams ? WebAssembly.compileStreaming(response.clone()).catch(() => null) : null;
}

/** @param {(received: number) => void} tell */
function progress(tell) {
  let told = performance.now();
  return (/** @type {number} */ received) => {
    if (performance.now() - told < NEWS_MS) return;
    told = performance.now();
    tell(received);
  };
}
