/**
 * Whether this browser has a WebGPU that answers. Every way in which it can fail is a sentence here, within seconds:
 * no navigator.gpu, no adapter, an adapter or a device that never comes, a device that is lost at once.
 */

/** How long an adapter and a device may take together. Drivers that answer do so in under two seconds when cold. */
const PROBE_MS = 5000;

/** @typedef {{fault: string, f16: boolean, name: string}} Gpu fault: "" where WebGPU works, else why it does not */

/**
 * Ask for an adapter and a device, and give the device back.
 * @returns {Promise<Gpu>}
 */
export async function probeGpu() {
  const none = (/** @type {string} */ fault) => ({ fault, f16: false, name: "" });
  const gpu = globalThis.navigator?.gpu;
  if (!gpu) return none("this browser has no WebGPU");
  let timer;
  /** @type {Promise<Gpu>} */
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(none(`the graphics driver did not answer within ${PROBE_MS / 1000} s`)), PROBE_MS);
  });
  try {
    return await Promise.race([late, ask(gpu)]);
  } catch (error) {
    return none(`WebGPU failed: ${error instanceof Error ? error.message : error}`);
  } finally {
    clearTimeout(timer);
  }
}

/** @param {GPU} gpu @returns {Promise<Gpu>} */
async function ask(gpu) {
  const adapter = await gpu.requestAdapter();
  if (!adapter) return { fault: "WebGPU found no graphics adapter", f16: false, name: "" };
  const device = await adapter.requestDevice();
  try {
    // A device that is lost already says so within a turn of the event loop or with its first work.
    const lost = await Promise.race([
      device.lost,
      device.queue.onSubmittedWorkDone().then(() => null, () => null),
    ]);
    if (lost) return { fault: `the graphics device was lost: ${lost.message || lost.reason}`, f16: false, name: "" };
  } finally {
    device.destroy();
  }
  const { vendor = "", architecture = "" } = adapter.info ?? {};
  return { fault: "", f16: adapter.features.has("shader-f16"), name: `${vendor} ${architecture}`.trim() };
}
