/**
 * The worker that computes: Pyodide and ONNX Runtime Web side by side, so that tensors never cross threads.
 *
 * A start does everything at once. Files download, WebAssembly compiles, ONNX Runtime loads and opens the model while
 * Python boots; the app's own `InferenceSession(...)` then finds its session made. Failures are values, never rejected
 * promises: an Error loses its class on the way between threads.
 */

import * as Comlink from "./vendor/comlink.js";
import { Assets } from "./assets.js";
import { createBridge } from "./bridge.js";
import { Python } from "./pyodide-boot.js";
import { fetchThrough, memoryBytes } from "./seam.js";

/** @import { PyProxy } from "pyodide/ffi" */
/** @import { CallResult, Failure, InsideQuestion, Progress, Ready, StartConfig, Status, WireValue } from "./protocol.js" */

/** Progress that a person can see; more of it would only cost the thread time. */
const PROGRESS_EVERY_MS = 50;
/** Inputs that may hold an encoded picture, for which Python needs a decoder. */
const PICTURES = new Set(["image", "drawing", "file"]);

/** @typedef {Awaited<ReturnType<typeof createBridge>>} Bridge */
/** @typedef {{python: Python, bridge: Bridge, host: PyProxy & Record<string, any>, assets: Assets}} Session */

/** @type {Session | null} */
let session = null;

/**
 * @param {StartConfig} config
 * @param {(p: Progress) => void} onProgress
 * @returns {Promise<Ready | Failure>}
 */
async function start(config, onProgress) {
  const began = performance.now();
  /** @type {Record<string, number>} */
  const steps = {};
  const step = (/** @type {string} */ name) => (steps[name] = Math.round(performance.now() - began));
  const report = reporter(onProgress);
  try {
    const { site, root } = config;
    const app = site.apps.find(({ name }) => name === config.app);
    if (!app) throw new Error(`site.json has no app ${config.app}; it has ${site.apps.map(({ name }) => name).join(", ")}`);
    const assets = new Assets(site, root, (loaded, total) => report({ loaded, total }), config.keeps);
    const failed = fetchThrough(assets);
    const python = new Python(site, app, assets, failed);
    const booting = python.boot();
    const bridging = createBridge({ ...config, assets, onProgress: report, heap: () => python.heap });
    bridging.catch(() => {}); // awaited below, after Python
    await booting;
    step("python");
    const bridge = await bridging;
    step("bridge");
    report({ stage: "app", detail: "" }, true);
    const host = /** @type {Session["host"]} */ (python.pyodide.pyimport("onnxlet.host"));
    step("import");
    session = { python, bridge, host, assets };
    if (bridge.waits === "none") await python.keepModels(); // it cannot wait for them later
    const fault = await host.start(bridge, JSON.stringify(app));
    if (fault) return failure(JSON.parse(fault).error);
    step("app");
    await assets.settled(); // a model that cannot be had is told now, not by the first call
    python.pictures().catch(() => {}); // a call that needs it tries again, and tells
    report({ stage: "ready" }, true);
    return { ...status(), load_ms: step("ready"), steps, files: assets.used };
  } catch (error) {
    return failure(error);
  } // onProgress stays: files that are loaded later report to it too
}

/**
 * @param {string} fn
 * @param {(WireValue | null)[]} inputs
 * @param {Uint8Array[]} buffers
 * @returns {Promise<CallResult>}
 */
async function call(fn, inputs, buffers) {
  if (!session) return failure(new Error("call() came before start()"));
  const { python, bridge, host } = session;
  try {
    if (inputs.some(mayBePicture)) await python.pictures();
    const [json, views] = await host.call(fn, JSON.stringify(inputs), buffers);
    const { error, ...answer } = JSON.parse(json);
    const broken = bridge.backend === "webgpu" && bridge.describe("webgpu").broken ? { broken: /** @type {const} */ ("webgpu") } : {};
    if (error) return { error, ...broken };
    return Comlink.transfer({ ...answer, buffers: views, ...broken }, views.map((/** @type {Uint8Array} */ view) => view.buffer));
  } catch (error) {
    return failure(error);
  }
}

/**
 * @param {InsideQuestion} what
 * @param {number} [of] a session's number
 * @returns {Promise<any>} what inside.py says, or a Failure
 */
async function inside(what, of = 0) {
  if (!session) return failure(new Error("inside() came before start()"));
  const { assets, host } = session;
  try {
    return JSON.parse(await host.inside(what, of, (/** @type {string} */ path) => assets.bytes(path)));
  } catch (error) {
    return failure(error);
  }
}

/** @returns {Status} */
function status() {
  if (!session) throw new Error("status() came before start()");
  const { bridge, host } = session;
  return { ...JSON.parse(host.status()), waits: bridge.waits, memory_bytes: memoryBytes() };
}

/** @param {WireValue | null} input */
function mayBePicture(input) {
  return input !== null && PICTURES.has(input.kind) && input.buffer !== undefined && input.encoding !== "rgba";
}

/**
 * Sends what changes, not more often than a person can see.
 * @param {(p: Progress) => void} send
 */
function reporter(send) {
  /** @type {Progress} */
  let state = { stage: "download", loaded: 0, total: 0 };
  let sent = -Infinity;
  return (/** @type {Partial<Progress>} */ change, now = false) => {
    state = { ...state, ...change };
    if (!now && performance.now() - sent < PROGRESS_EVERY_MS) return;
    sent = performance.now();
    send(state);
  };
}

/**
 * @param {any} error
 * @returns {Failure}
 */
function failure(error) {
  const { type, name, message, traceback, hint } = error ?? {};
  return { error: { type: type ?? name ?? "Error", message: String(message ?? error), traceback, hint } };
}

Comlink.expose({ start, call, inside, status });
