/** Records the microphone as float samples at the device's own rate. */

import { openTap } from "./tap.js";

export class Recorder {
  /** @type {{rate: number, close: () => Promise<void>} | null} */
  #tap = null;
  /** @type {Float32Array[]} */
  #blocks = [];
  #starts = 0;

  get running() {
    return this.#tap !== null;
  }

  /**
   * @param {(seconds: number) => void} heard - called as the recording grows
   * @returns {Promise<string>} why it did not start; "" when it did
   */
  async start(heard) {
    const mine = (this.#starts += 1);
    /** @type {Float32Array[]} */
    const blocks = (this.#blocks = []);
    let [length, said] = [0, 0];
    const tap = await openTap((block, rate) => {
      blocks.push(block);
      length += block.length;
      const tenths = Math.floor((10 * length) / rate);
      if (tenths !== said) heard((said = tenths) / 10);
    });
    if ("refused" in tap) return tap.refused;
    if (mine !== this.#starts) { // stopped, or begun again, while the visitor was being asked
      await tap.close();
      return "";
    }
    this.#tap = tap;
    return "";
  }

  /** @returns {Promise<{samples: Float32Array, sampleRate: number} | null>} null when nothing was running */
  async stop() {
    const tap = this.#tap;
    this.#starts += 1;
    if (!tap) return null;
    this.#tap = null;
    await tap.close();
    return { samples: joined(this.#blocks), sampleRate: tap.rate };
  }
}

/** @param {Float32Array[]} blocks */
export function joined(blocks) {
  const samples = new Float32Array(blocks.reduce((length, block) => length + block.length, 0));
  let at = 0;
  for (const block of blocks) {
    samples.set(block, at);
    at += block.length;
  }
  return samples;
}
