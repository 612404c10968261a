/**
 * Which backend runs each model of an app, and how Python waits for it: decided once, before anything large is loaded.
 *
 * site.json says on which backends each variant is right and which of them is fastest; the visitor may insist on one; the
 * browser has the last word. Every decision is a sentence that the page shows.
 */

import { noGpu, probeGpu } from "./gpu.js";
import { BACKENDS, needsHalf, variantFor } from "./variants.js";

/** @import { Backend, BackendChoice, Loaded, Site, SiteApp, SiteModel, Variant, Waits } from "./protocol.js" */
/** @import { Gpu } from "./gpu.js" */

/** onnxruntime's names, which Python uses. */
const PROVIDERS = /** @type {const} */ ({ webgpu: "WebGpuExecutionProvider", wasm: "CPUExecutionProvider", python: "NumpyExecutionProvider" });
const NAMES = { webgpu: "WebGPU", wasm: "WebAssembly", python: "Python" };

/**
 * @typedef {object} Files what one model loads here
 * @property {Backend} backend it runs on
 * @property {Partial<Record<Backend, Variant>>} variants by backend. Python's is that of the model's own backend: it cuts
 *   the graph for that one, and takes over from it.
 */

/**
 * @typedef {object} Plan
 * @property {Waits} waits
 * @property {Backend} backend of the app's first model
 * @property {string} reason
 * @property {Record<string, object>} models by path in the app's folder: of site.json's entry what Python needs, its id,
 *   the provider, and what each provider loads
 * @property {Record<string, Files>} files by model id
 * @property {Gpu} gpu
 */

/**
 * @param {Site} site
 * @param {SiteApp} app
 * @param {BackendChoice} wanted
 * @param {boolean} isolated false: as if the page were not cross-origin isolated
 * @param {Backend[]} [demoted] those that answered wrong on this device: for whoever insists
 * @returns {Promise<Plan>}
 */
export async function choose(site, app, wanted, isolated, demoted = []) {
  const waits = wanted === "python" ? "none" : waysToWait(app, isolated);
  if (waits === "none") {
    const reason =
      wanted === "python"
        ? "you chose Python"
        : "this browser cannot pause Python (no JSPI, no shared memory), so Python computes alone";
    return plan(site, app, waits, () => ["python", reason], noGpu(reason));
  }
  const ids = Object.values(app.models);
  const asked = wanted === "webgpu" || ids.some((id) => orderOf(site.models[id], wanted, demoted)[0].includes("webgpu"));
  const gpu = asked ? await probeGpu() : noGpu("no model of this app asks for it");
  return plan(site, app, waits, (model) => backendOf(model, wanted, gpu, demoted), gpu);
}

/**
 * The plan where no graphics adapter has a say in which backend runs a model: it need not wait until one has answered.
 * @param {Site} site
 * @param {SiteApp} app
 * @param {BackendChoice} wanted
 * @param {boolean} isolated
 * @param {Backend[]} [demoted]
 * @returns {Plan | null} as `choose` gives it, but for what it says of the adapter; null: ask `choose`
 */
export function planWithoutGpu(site, app, wanted, isolated, demoted = []) {
  const waits = wanted === "python" ? "none" : waysToWait(app, isolated);
  const first = Object.values(app.models).map((id) => orderOf(site.models[id], wanted, demoted)[0][0]);
  if (waits === "none" || first.includes("webgpu")) return null;
  const gpu = noGpu("it has not answered yet");
  return plan(site, app, waits, (model) => backendOf(model, wanted, gpu, demoted), gpu);
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
  /** @type {Plan["files"]} */
  const files = {};
  for (const [path, id] of Object.entries(app.models)) {
    const model = site.models[id];
    const { inputs, outputs, overridable = [], metadata, faults = {}, references = [] } = model;
    const [backend] = pick(model);
    const variants = variantsOf(model, backend, gpu.f16);
    files[id] = { backend, variants };
    const shown = Object.fromEntries(BACKENDS.map((each) => [PROVIDERS[each], loaded(model, variants[each])]));
    models[path] = { id, inputs, outputs, overridable, metadata, faults, references, provider: PROVIDERS[backend], variants: shown };
  }
  const [backend, reason] = pick(site.models[Object.values(app.models)[0]]);
  return { waits, backend, reason, models, files, gpu };
}

/**
 * @param {SiteModel} model
 * @param {Backend} backend
 * @param {boolean} half
 * @returns {Files["variants"]}
 */
function variantsOf(model, backend, half) {
  const own = variantFor(model, backend, half) ?? model.variants[0];
  return { webgpu: variantFor(model, "webgpu", half) ?? own, wasm: variantFor(model, "wasm") ?? own, python: own };
}

/** @param {SiteModel} model @param {Variant | undefined} variant @returns {Partial<Loaded>} */
function loaded({ proven = false }, variant) {
  if (!variant) return {};
  const { name = "", format, bytes, error = null } = variant;
  return { name, format, bytes, error, proven };
}

/**
 * @param {SiteModel | undefined} model undefined where the app brings its own bytes
 * @param {BackendChoice} wanted
 * @param {Gpu} gpu
 * @param {Backend[]} demoted
 * @returns {[Backend, string]}
 */
function backendOf(model, wanted, gpu, demoted) {
  const [order, not] = orderOf(model, wanted, demoted);
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
 * @param {Backend[]} demoted
 * @returns {[Backend[], string[]]} and why others are not tried
 */
function orderOf(model, wanted, demoted) {
  const right = model ? BACKENDS.filter((b) => variantFor(model, b, true)) : BACKENDS;
  const order = [...(wanted === "auto" ? [] : [wanted]), ...(model?.prefer ?? []), ...BACKENDS];
  const offered = [...new Set(order)].filter((backend) => right.includes(backend));
  const trusted = offered.filter((backend) => backend === wanted || !demoted.includes(backend));
  if (!trusted.length && offered.length) return [offered, ["every backend answered wrong on this device"]];
  const wrong = offered.filter((backend) => !trusted.includes(backend));
  return [trusted, wrong.map((backend) => `${NAMES[backend]} answered wrong on this device`)];
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
  const variant = variantFor(model, "webgpu");
  if (variant && !needsHalf(model, variant)) return "";
  return `${model.name} computes in float16, which this graphics adapter cannot (no shader-f16)`;
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
