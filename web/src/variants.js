/**
 * Which of a model's files a device loads: the build has chosen one for each class of devices (site.json's `choice`).
 */

/** @import { Backend, SiteModel, Variant } from "./protocol.js" */

/** Backends in the order in which a site without opinions tries them. @type {Backend[]} */
export const BACKENDS = ["wasm", "webgpu", "python"];

/**
 * @param {SiteModel} model
 * @param {Backend} backend
 * @param {boolean} [half] whether the graphics adapter computes in float16
 * @returns {Variant | undefined} undefined where no file is right on this backend
 */
export function variantFor({ choice = {}, variants }, backend, half = false) {
  const index = (backend === "webgpu" && half ? choice["webgpu-f16"] : undefined) ?? choice[backend];
  if (index !== undefined) return variants[index];
  // Without a choice the first one counts that may run there; with one, a class that it leaves out has none.
  return Object.keys(choice).length ? undefined : variants.find(({ backends }) => backends.includes(backend));
}

/**
 * Whether a graphics adapter without float16 cannot run a file.
 * @param {SiteModel} model
 * @param {Variant | undefined} variant
 */
export function needsHalf(model, variant) {
  if (variant?.half !== undefined) return variant.half;
  return variant?.format === "fp16" || [...model.inputs, ...model.outputs].some(({ type }) => type === "tensor(float16)");
}
