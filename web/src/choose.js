/**
 * Which backend runs each model of an app, and how Python waits for it: decided once, before anything large is loaded.
 *
 * site.json says on which backends each variant is right and which of them is fastest; the visitor may insist on one; the
 * browser has the last word. Every decision is a sentence that the page shows.
 */

import { noGpu, probeGpu } from "./gpu.js";

/** @import { Backend, BackendChoice, Site, SiteApp, SiteModel, Waits } from "./protocol.js" */
/** @import { Gpu } from "./gpu.js" */

/** onnxruntime's names, which Python uses. */
const PROVIDERS = { webgpu: "WebGpuExecutionProvider", wasm: "CPUExecutionProvider", python: "NumpyExecutionProvider" };

/** @type {Backend[]} */
const ANY = ["wasm", "webgpu", "python"];

/**
 * @typedef {object} Plan
 * @property {Waits} waits
 * @property {Backend} backend of the app's first model
 * @property {string} reason
 * @property {Record<string, object>} models by path in the app's folder: site.json's entry, its id and the provider
 * @property {Record<string, Backend>} backends by model id
 * @property {Gpu} gpu
 */

/**
 * @param {Site} site
 * @param {SiteApp} app
 * @param {BackendChoice} wanted
 * @param {boolean} isolated false: as if the page were not cross-origin isolated
 * @returns {Promise<Plan>}
 */
export async function choose(site, app, wanted, isolated) {
  const waits = wanted === "python" ? "none" : waysToWait(app, isolated);
  if (waits === "none") {
    const reason =
      wanted === "python"
        ? "you chose Python"
        : "this browser cannot pause Python (no JSPI, no shared memory), so Python computes alone";
    return plan(site, app, waits, () => ["python", reason], noGpu(reason));
  }
  const ids = Object.values(app.models);
  const asked = wanted === "webgpu" || ids.some((id) => orderOf(site.models[id], wanted).includes("webgpu"));
  const gpu = asked ? await probeGpu() : noGpu("no model of this app asks for it");
  return plan(site, app, waits, (model) => backendOf(model, wanted, gpu), gpu);
}

/**
 * @param {Site} site
 * @param {SiteApp} app
 * @param {Waits} waits
 * @param {(model: SiteModel | undefined) => [Backend, string]} pick
 * @param {Gpu} gpu
 * @returns {Plan}
 */
function plan(site, app, waits, pick, gpu) {
  /** @type {Plan["models"]} */
  const models = {};
  /** @type {Plan["backends"]} */
  const backends = {};
  for (const [path, id] of Object.entries(app.models)) {
    const { inputs, outputs, metadata, ...more } = site.models[id];
    backends[id] = pick(site.models[id])[0];
    const overridable = /** @type {any} */ (more).overridable ?? [];
    models[path] = { id, inputs, outputs, overridable, metadata, provider: PROVIDERS[backends[id]] };
  }
  const [backend, reason] = pick(site.models[Object.values(app.models)[0]]);
  return { waits, backend, reason, models, backends, gpu };
}

/**
 * @param {SiteModel | undefined} model undefined where the app brings its own bytes
 * @param {BackendChoice} wanted
 * @param {Gpu} gpu
 * @returns {[Backend, string]}
 */
function backendOf(model, wanted, gpu) {
  const order = orderOf(model, wanted);
  /** @type {string[]} */
  const not = [];
  for (const backend of order) {
    const fault = backend === "webgpu" ? gpuFault(model, wanted, gpu) : "";
    if (fault) {
      not.push(fault);
      continue;
    }
    if (not.length) return [backend, not.join("; ")];
    if (wanted !== "auto" && backend === wanted) return [backend, "you chose it"];
    if (wanted !== "auto") return [backend, `no variant of ${model?.name} is right on ${wanted}`];
    return [backend, model?.reason ?? (model ? "the first choice of the build" : "the default")];
  }
  return ["python", not.join("; ") || `no runtime takes ${model?.name}`];
}

/**
 * Backends to try for a model, the best first; only those on which a variant of it is right.
 * @param {SiteModel | undefined} model
 * @param {BackendChoice} wanted
 */
function orderOf(model, wanted) {
  const right = model ? ANY.filter((b) => model.variants.some((v) => v.backends.includes(b))) : ANY;
  const order = [...(wanted === "auto" ? [] : [wanted]), ...(model?.prefer ?? []), ...ANY];
  return [...new Set(order)].filter((backend) => right.includes(backend));
}

/**
 * Why a model does not run on this GPU, or should not.
 * @param {SiteModel | undefined} model
 * @param {BackendChoice} wanted
 * @param {Gpu} gpu
 */
function gpuFault(model, wanted, gpu) {
  if (gpu.emulated && wanted !== "webgpu") return `the processor emulates the only graphics adapter (${gpu.name})`;
  if (gpu.fault || gpu.f16 || !model) return gpu.fault;
  const variant = model.variants.find((v) => v.backends.includes("webgpu"));
  const half = variant?.format === "fp16" || [...model.inputs, ...model.outputs].some((t) => t.type === "tensor(float16)");
  return half ? `${model.name} computes in float16, which this graphics adapter cannot (no shader-f16)` : "";
}

/**
 * @param {SiteApp} app
 * @param {boolean} isolated
 * @returns {Waits}
 */
function waysToWait(app, isolated) {
  // Probed, never guessed from a version: both halves of JSPI are functions of WebAssembly.
  if ("Suspending" in WebAssembly && "promising" in WebAssembly) return "jspi";
  if (isolated && globalThis.crossOriginIsolated && typeof SharedArrayBuffer === "function") return "atomics";
  return app.functions.length && app.functions.every((f) => f.async) ? "async" : "none";
}
