/**
 * How much memory the models of this worker may take, and what is left of it.
 *
 * WebAssembly has 4 GiB of addresses, a device has less or more memory, and a build may set its own limit. A model that does
 * not fit is refused with a sentence before it is downloaded: without that, the tab or ONNX Runtime would end without words.
 * What a model needs is an estimate, of its weights and of what the build found alive at once in a run.
 */

import { OrtError } from "./failures.js";

/** What a 32-bit WebAssembly memory can hold; ONNX Runtime itself and what lies between allocations take the rest. */
const WASM_BYTES = 3.75 * 2 ** 30;
/** Of the device's memory, which its system and other tabs need too. */
const SHARE = 0.5;
/** Weights with what ONNX Runtime keeps beside them: it packs those of matrix products anew, and leaves gaps. Measured: 1.5. */
const PACKED = 1.5;

/** @typedef {{name: string, bytes: number}} Held by one session */

export class Budget {
  #limit;
  #why;
  /** @type {Map<object, Held>} by whoever holds it */
  #held = new Map();

  /** @param {number} [asked] by the build, in bytes */
  constructor(asked) {
    const device = /** @type {{deviceMemory?: number}} */ (navigator).deviceMemory; // GiB, rounded; Chromium says it
    const here = Math.min(WASM_BYTES, device ? device * 2 ** 30 * SHARE : Infinity);
    this.#limit = asked ?? here;
    this.#why = asked ? "as this site was built" : here < WASM_BYTES ? "on this device" : "in a browser";
  }

  /** Bytes that nobody holds. */
  get left() {
    return [...this.#held.values()].reduce((left, { bytes }) => left - bytes, this.#limit);
  }

  /**
   * Note that a model is there.
   * @param {object} holder
   * @param {Held} model
   * @throws {OrtError} OutOfMemory: it does not fit
   */
  hold(holder, model) {
    this.check(model);
    this.#held.set(holder, model);
  }

  /** @param {Held} model @throws {OrtError} OutOfMemory: it would not fit */
  check({ name, bytes }) {
    if (bytes <= this.left) return;
    const others = [...this.#held.values()].map((one) => `${one.name} (${size(one.bytes)})`);
    const taken = others.length ? `, and ${others.join(", ")} ${others.length > 1 ? "are" : "is"} loaded` : "";
    const remedy = others.length
      ? "Close the other session, or the other demo on this page"
      : "Use a device with more memory, or ask the site's author for a smaller model (variants in int8 or with 4-bit weights)";
    throw new OrtError(
      "OutOfMemory",
      `${name} needs about ${size(bytes)} of memory; models may take ${size(this.#limit)} ${this.#why}${taken}. ${remedy}.`,
    );
  }

  /** @param {object} holder */
  release(holder) {
    this.#held.delete(holder);
  }
}

/**
 * An estimate of what a model takes once it is loaded, and while it runs.
 * @param {number} weights bytes of its file
 * @param {number} [activations] bytes alive at once
 */
export function need(weights, activations = 0) {
  return weights * PACKED + activations;
}

/** @param {number} bytes */
function size(bytes) {
  const [unit, of] = bytes >= 2 ** 30 ? ["GiB", 2 ** 30] : ["MiB", 2 ** 20];
  return `${Number((bytes / of).toPrecision(2))} ${unit}`;
}
