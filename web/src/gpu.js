/**
 * Whether this browser has a WebGPU that answers. Every way in which it can fail is a sentence here, within seconds:
 * no navigator.gpu, no adapter, an adapter or a device that never comes, a device that is lost at once.
 */

/** How long an adapter and a device may take together: under two seconds when cold, over five for an emulated one on a busy machine. */
const PROBE_MS = 10_000;

/** Adapters that compute on the processor, of Chromium, Mesa and Windows; not every one of them says that it is one. */
const EMULATED = /swiftshader|llvmpipe|lavapipe|basic render/i;

/**
 * @typedef {object} Gpu
 * @property {string} fault "" where WebGPU works, else why it does not
 * @property {boolean} f16
 * @property {string} name
 * @property {boolean} emulated right, but slower than WebAssembly: for whoever asks for it
 */

/** @param {string} fault @returns {Gpu} */
export function noGpu(fault) {
  return { fault, f16: false, name: "", emulated: false };
}

/**
 * Ask for an adapter and a device, and give the device back.
 * @returns {Promise<Gpu>}
 */
export async function probeGpu() {
  const gpu = globalThis.navigator?.gpu;
  if (!gpu) return noGpu("this browser has no WebGPU");
  let timer;
  /** @type {Promise<Gpu>} */
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(noGpu(`the graphics driver did not answer within ${PROBE_MS / 1000} s`)), PROBE_MS);
  });
  try {
    return await Promise.race([late, ask(gpu)]);
  } catch (error) {
    return noGpu(`WebGPU failed: ${error instanceof Error ? error.message : error}`);
  } finally {
    clearTimeout(timer);
  }
}

/** @param {GPU} gpu @returns {Promise<Gpu>} */
async function ask(gpu) {
  const adapter = await gpu.requestAdapter();
  if (!adapter) return noGpu("WebGPU found no graphics adapter");
  const device = await adapter.requestDevice();
  try {
    // A device that is lost already says so within a turn of the event loop or with its first work.
    const lost = await Promise.race([
      device.lost,
      device.queue.onSubmittedWorkDone().then(() => null, () => null),
    ]);
    if (lost) return noGpu(`the graphics device was lost: ${lost.message || lost.reason}`);
  } finally {
    device.destroy();
  }
  const info = /** @type {Partial<GPUAdapterInfo>} */ (adapter.info ?? {});
  const name = [info.vendor, info.architecture].filter(Boolean).join(" ");
  const emulated = info.isFallbackAdapter === true || EMULATED.test(`${name} ${info.description ?? ""}`);
  return { fault: "", f16: adapter.features.has("shader-f16"), name, emulated };
}
