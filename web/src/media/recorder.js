/**
 * Records the microphone as float samples at the device's own rate. An AudioWorklet hands over every sample; the
 * browser's compressing MediaRecorder would change what the model hears.
 */

import { closeDevice, openDevice } from "./devices.js";

const untouched = { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false };

export class Recorder {
  /** @type {MediaStream | null} */
  #stream = null;
  /** @type {AudioContext | null} */
  #context = null;
  /** @type {Float32Array[]} */
  #blocks = [];
  #length = 0;

  get running() {
    return this.#context !== null;
  }

  /**
   * @param {(seconds: number) => void} heard - called as the recording grows
   * @returns {Promise<string>} why it did not start; "" when it did
   */
  async start(heard) {
    const opened = await openDevice("microphone", { audio: untouched });
    if ("refused" in opened) return opened.refused;
    this.#stream = opened.stream;
    this.#blocks = [];
    this.#length = 0;
    const context = new AudioContext();
    this.#context = context;
    await context.audioWorklet.addModule(new URL("./recorder-worklet.js", import.meta.url));
    const tap = new AudioWorkletNode(context, "tap", { numberOfOutputs: 0 });
    let said = 0;
    tap.port.onmessage = ({ data }) => {
      if (this.#context !== context) return; // what was still under way when the recording ended
      this.#blocks.push(data);
      this.#length += data.length;
      const tenths = Math.floor((10 * this.#length) / context.sampleRate);
      if (tenths !== said) heard((said = tenths) / 10);
    };
    context.createMediaStreamSource(opened.stream).connect(tap);
    return "";
  }

  /** @returns {Promise<{samples: Float32Array, sampleRate: number} | null>} null when nothing was running */
  async stop() {
    const context = this.#context;
    if (!context) return null;
    this.#context = null;
    closeDevice(this.#stream);
    await context.close();
    const samples = new Float32Array(this.#length);
    let at = 0;
    for (const block of this.#blocks) {
      samples.set(block, at);
      at += block.length;
    }
    return { samples, sampleRate: context.sampleRate };
  }
}
