/**
 * A microphone that stays open: what it heard since the last time is there to be taken, every sample once and in order. Where
 * nobody takes it for long, the oldest is dropped and counted.
 */

import { duration, t } from "../words.js";
import { joined } from "./recorder.js";
import { openTap } from "./tap.js";

/** @import { Flow } from "../widgets/widget.js" */

/** A model that lags behind so far will not catch up. */
const MOST_S = 10;

/** @implements {Flow} */
export class Listener {
  /** @type {Float32Array[]} */
  #blocks = [];
  #length = 0;
  #start = 0; // of the first block in the recording, samples
  #lost = 0;
  #rate = 1;
  #chunk_s;
  open = true;
  #tell = () => {};
  #over = () => {};
  /** @type {Promise<void>} */
  closed = new Promise((resolve) => (this.#over = resolve));
  #close = async () => {};
  #loudest;

  /** @param {number} chunk_s - what is worth taking @param {(peak: number) => void} loudest - hears how loud each chunk was */
  constructor(chunk_s, loudest) {
    this.#chunk_s = chunk_s;
    this.#loudest = loudest;
  }

  /**
   * @param {{rate?: number, chunk_s: number, loudest: (peak: number) => void, unplugged: () => void}} options rate: Hz
   * @returns {Promise<Listener | string>} why not, where it does not open
   */
  static async open({ rate, chunk_s, loudest, unplugged }) {
    const listener = new Listener(chunk_s, loudest);
    const tap = await openTap((block, hz) => listener.#hear(block, hz), { unplugged, ...(rate ? { rate } : {}) });
    if ("refused" in tap) return tap.refused;
    listener.#close = tap.close;
    return listener;
  }

  /** @returns {Promise<boolean>} */
  async fresh() {
    while (this.open && !this.#enough) await new Promise((resolve) => (this.#tell = () => resolve(undefined)));
    return this.open;
  }

  /** All that was heard since the last time, in wire form. */
  take() {
    const samples = joined(this.#blocks);
    const wire = { kind: "audio", buffer: 0, encoding: "f32", sample_rate: this.#rate, channels: 1, start_s: this.#start / this.#rate };
    this.#start += this.#length;
    this.#blocks = [];
    this.#length = 0;
    return { wire, buffers: [new Uint8Array(samples.buffer)] };
  }

  /** The next sample is the first of a new recording. */
  renew() {
    this.#blocks = [];
    this.#length = this.#start = this.#lost = 0;
  }

  lost() {
    return this.#lost ? t("live_lost", { time: duration((1000 * this.#lost) / this.#rate) }) : "";
  }

  close() {
    if (!this.open) return;
    this.open = false;
    this.#tell();
    this.#over();
    void this.#close();
  }

  get #enough() {
    return this.#length >= this.#chunk_s * this.#rate && this.#length > 0;
  }

  /** @param {Float32Array} block @param {number} rate */
  #hear(block, rate) {
    this.#rate = rate;
    this.#blocks.push(block);
    this.#length += block.length;
    while (this.#length > Math.max(MOST_S, 2 * this.#chunk_s) * rate) {
      const dropped = this.#blocks.shift()?.length ?? 0;
      this.#length -= dropped;
      this.#start += dropped;
      this.#lost += dropped;
    }
    this.#loudest(block.reduce((peak, sample) => Math.max(peak, Math.abs(sample)), 0));
    if (this.#enough) this.#tell();
  }
}
