/**
 * Every sample of the microphone, block by block. An AudioWorklet hands them over; the browser's compressing MediaRecorder
 * would change what the model hears.
 */

import { here } from "../here.js";
import { t } from "../words.js";
import { closeDevice, openDevice } from "./devices.js";

const untouched = { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false };

/**
 * @param {(block: Float32Array, rate: number) => void} heard
 * @param {{rate?: number, unplugged?: () => void}} [options] rate: Hz, where the browser can; else the device's own
 * @returns {Promise<{rate: number, close: () => Promise<void>} | {refused: string}>}
 */
export async function openTap(heard, { rate, unplugged = () => {} } = {}) {
  const opened = await openDevice("microphone", { audio: untouched });
  if ("refused" in opened) return opened;
  const { stream } = opened;
  for (const track of stream.getAudioTracks()) track.addEventListener("ended", unplugged);
  const { context, source } = listen(stream, rate);
  let open = true;
  const close = () => {
    open = false;
    closeDevice(stream);
    return context.close();
  };
  try {
    await context.audioWorklet.addModule(here("media/recorder-worklet.js"));
  } catch (error) { // its file did not come
    await close();
    return { refused: t("device_failed", { device: t("device_microphone"), message: /** @type {Error} */ (error).message }) };
  }
  const tap = new AudioWorkletNode(context, "tap", { numberOfOutputs: 0 });
  tap.port.onmessage = ({ data }) => {
    if (open) heard(data, context.sampleRate); // not what was still under way at the end
  };
  source.connect(tap);
  return { rate: context.sampleRate, close };
}

/** @param {MediaStream} stream @param {number} [rate] */
function listen(stream, rate) {
  /** @type {AudioContext | undefined} */
  let context;
  try {
    context = new AudioContext(rate ? { sampleRate: rate } : {});
    return { context, source: context.createMediaStreamSource(stream) };
  } catch {
    void context?.close();
    context = new AudioContext(); // some browsers convert no rates here
    return { context, source: context.createMediaStreamSource(stream) };
  }
}
