/**
 * What this browser can do, found out by trying it, and what follows: the backend, the number of threads, and how Python
 * waits for ONNX Runtime. Every answer carries its reason, because the page shows it.
 */

/** @import { Backend, BackendChoice, Site, SiteApp, Waits } from "./protocol.js" */

/** A GPU process that hangs never answers; a healthy one needs a fraction of this even on a cold start. */
const GPU_ANSWERS_WITHIN_MS = 3000;
/** ONNX Runtime Web gains little beyond; half the cores stay for the page and the system. */
const MAX_THREADS = 4;

/** JavaScript Promise Integration: lets synchronous Python wait for a promise. */
export function canSuspend() {
  const { Suspending, promising } = /** @type {any} */ (WebAssembly);
  return typeof Suspending === "function" && typeof promising === "function";
}

/** Memory shared between threads: needs cross-origin isolation, and an engine that keeps its promise. */
export function canShareMemory() {
  if (globalThis.crossOriginIsolated !== true || typeof SharedArrayBuffer !== "function") return false;
  try {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
    return memory.buffer instanceof SharedArrayBuffer && typeof Atomics.wait === "function";
  } catch {
    return false;
  }
}

/**
 * @param {boolean} wanted false: one thread was asked for
 * @returns {{threads: number, reason: string}}
 */
export function chooseThreads(wanted) {
  if (!canShareMemory()) return { threads: 1, reason: "one thread: the page is not cross-origin isolated" };
  if (!wanted) return { threads: 1, reason: "one thread: threads did not start in this browser" };
  const cores = navigator.hardwareConcurrency || 1;
  const threads = Math.max(1, Math.min(MAX_THREADS, Math.floor(cores / 2)));
  return { threads, reason: threads === 1 ? "one thread: half of the cores stay free" : `${threads} threads` };
}

/**
 * @param {SiteApp} app
 * @param {boolean} shared whether threads can share memory here and may
 * @returns {{waits: Waits, reason: string}}
 */
export function chooseWaits(app, shared) {
  if (canSuspend()) return { waits: "jspi", reason: "" };
  if (shared) return { waits: "atomics", reason: "no JSPI here: ONNX Runtime runs in a second worker" };
  if (app.functions.length > 0 && app.functions.every((fn) => fn.async)) return { waits: "async", reason: "" };
  return { waits: "none", reason: "this browser has no JSPI and the page is not isolated, so Python cannot wait for ONNX Runtime" };
}

/**
 * Ask for a GPU and make it work once.
 * @returns {Promise<{usable: boolean, software: boolean, reason: string}>}
 */
export async function findGpu() {
  const gpu = /** @type {any} */ (navigator).gpu;
  if (!gpu) return { usable: false, software: false, reason: "this browser has no WebGPU" };
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, GPU_ANSWERS_WITHIN_MS, no(`the GPU gave no answer within ${GPU_ANSWERS_WITHIN_MS / 1000} s`));
  });
  try {
    return await Promise.race([tryGpu(gpu), late]);
  } catch (error) {
    return no(`the GPU failed: ${error instanceof Error ? error.message : error}`);
  } finally {
    clearTimeout(timer);
  }
}

/** @param {string} reason */
function no(reason) {
  return { usable: false, software: false, reason };
}

/** @param {GPU} gpu */
async function tryGpu(gpu) {
  const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) return no("no GPU here can be used for WebGPU");
  const device = await adapter.requestDevice();
  const lost = device.lost.then(({ message }) => no(`the GPU was lost${message ? `: ${message}` : ""}`));
  const worked = roundTrip(device).then((right) => {
    if (!right) return no("the GPU returned wrong bytes");
    const { info } = adapter;
    const software = info.isFallbackAdapter || /swiftshader|llvmpipe|software/i.test(`${info.architecture} ${info.description}`);
    return { usable: true, software, reason: software ? "a GPU emulated on the processor" : "the GPU works" };
  });
  const found = await Promise.race([lost, worked]);
  device.destroy();
  return found;
}

/**
 * Send a number through the GPU's memory and read it back.
 * @param {GPUDevice} device
 */
async function roundTrip(device) {
  const bytes = Uint32Array.of(0x6f6e6e78);
  const source = device.createBuffer({ size: 4, usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST });
  const target = device.createBuffer({ size: 4, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  device.queue.writeBuffer(source, 0, bytes);
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(source, 0, target, 0, 4);
  device.queue.submit([encoder.finish()]);
  await target.mapAsync(GPUMapMode.READ);
  return new Uint32Array(target.getMappedRange())[0] === bytes[0];
}

/**
 * Which backend this visitor gets.
 * @param {BackendChoice} choice
 * @param {Site} site
 * @param {SiteApp} app
 * @returns {Promise<{backend: Backend, reason: string}>}
 */
export async function chooseBackend(choice, site, app) {
  if (choice === "python") return { backend: "python", reason: "Python was asked for" };
  if (choice === "wasm") return { backend: "wasm", reason: "WebAssembly was asked for" };
  const models = Object.values(app.models).map((id) => site.models[id]);
  const runsOn = (/** @type {Backend} */ backend) =>
    models.every((model) => model?.variants.some(({ backends }) => backends.includes(backend)));
  if (choice === "webgpu") {
    if (!runsOn("webgpu")) return { backend: "wasm", reason: "no WebGPU: no variant of the model gives right answers there" };
    const gpu = await findGpu();
    if (gpu.usable) return { backend: "webgpu", reason: `WebGPU was asked for; ${gpu.reason}` };
    return { backend: "wasm", reason: `no WebGPU: ${gpu.reason}` };
  }
  const first = models[0];
  const why = [];
  for (const backend of first?.prefer ?? ["wasm"]) {
    if (!runsOn(backend)) continue;
    if (backend !== "webgpu") return { backend, reason: why.join("; ") || first?.reason || "the default" };
    const gpu = await findGpu();
    if (gpu.usable && !gpu.software) return { backend, reason: first?.reason ?? gpu.reason };
    why.push(gpu.usable ? `no WebGPU unless asked for: ${gpu.reason} is slower than WebAssembly` : `no WebGPU: ${gpu.reason}`);
  }
  return { backend: "wasm", reason: why.join("; ") || "the default" };
}
