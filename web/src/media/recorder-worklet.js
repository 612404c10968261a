/** The part of the recorder that runs on the audio thread: copies the first channel of each block to the page. */

class Tap extends AudioWorkletProcessor {
  /** @param {Float32Array[][]} inputs */
  process(inputs) {
    const channel = inputs[0]?.[0];
    if (channel) this.port.postMessage(channel.slice());
    return true;
  }
}

registerProcessor("tap", Tap);
