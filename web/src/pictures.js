/**
 * Pictures that Python need not decode: PNG files, read exactly as its decoder reads them (direct/png.js), so that a first
 * picture does not wait for that decoder. All others, and what is wrong with one, are left to Python.
 */

import { pixelsOfPng } from "./direct/png.js";

/** @import { WireValue } from "./protocol.js" */

/** More pixels than this take longer here than in Python. */
const MOST = 4_000_000;

/**
 * @param {(WireValue | null)[]} inputs
 * @param {Uint8Array[]} buffers
 * @returns {Promise<{inputs: (WireValue | null)[], buffers: Uint8Array[]}>} with pixels instead of PNG files; the file of a
 *   picture is its `file`, the number of a buffer
 */
export async function readPng(inputs, buffers) {
  const more = [...buffers];
  const read = await Promise.all(inputs.map(async (wire) => {
    if (wire?.buffer === undefined || wire.encoding || !(wire.kind === "image" || wire.kind === "drawing")) return wire;
    try {
      const { width, height, data } = await pixelsOfPng(buffers[wire.buffer] ?? new Uint8Array());
      if (width * height > MOST) return wire;
      return { ...wire, width, height, encoding: "rgba", file: wire.buffer, buffer: more.push(data) - 1 };
    } catch {
      return wire;
    }
  }));
  return { inputs: read, buffers: more };
}
