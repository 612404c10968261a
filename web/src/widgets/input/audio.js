/**
 * Sound: a file or a recording. A WAV file goes to Python as it is; other formats are decoded by the browser, which is
 * the only decoder here, at 48 kHz, so that Python's resampler sees all that was there. Where the app is live, the
 * microphone stays open, and what it heard goes there piece by piece.
 */

import { button, h, icon } from "../../dom.js";
import { liveMicrophone } from "../../media/microphone.js";
import { Recorder } from "../../media/recorder.js";
import { encodeWav } from "../../media/wav.js";
import { duration, t } from "../../words.js";
import { FileBox, fileLine, fileOf, fileValue } from "./file-box.js";

const DECODE_HZ = 48_000;

/** @type {import("../widget.js").MakeInput} */
export function audio(field, context) {
  /** @type {import("../widget.js").Given | null} */
  let samples = null; // a recording, or an example given as samples
  const sources = field.options.sources ?? ["upload", "microphone"];
  const recorder = new Recorder();
  const label = h("span", {}, t("record"));
  const record = button({ onclick: () => void (recorder.running ? finish() : begin()) }, icon("microphone"), label);
  const live = liveMicrophone(field.options, context, (open) => (box.element.hidden = open));
  const listen = button({ onclick: () => void live.open() }, icon("microphone"), t("microphone_live"));
  let asleep = false; // the microphone goes on when the form is seen again
  const box = new FileBox(context, {
    symbol: "microphone",
    prompt: "drop_audio",
    choose: "choose_audio",
    accept: "audio/*",
    extras: sources.includes("microphone") ? [context.live ? listen : record] : [],
    shown(file) {
      samples = null;
      if (file) box.preview.replaceChildren(player(file), fileLine(file));
    },
  });

  async function begin() {
    const refused = await recorder.start((seconds) => {
      label.textContent = `${t("record_stop")} (${duration(seconds * 1000)})`;
    });
    context.complain(refused);
    record.classList.toggle("recording", recorder.running);
  }

  async function finish() {
    const sound = await recorder.stop();
    rest();
    if (!sound || sound.samples.length === 0) return;
    show(sound.samples, sound.sampleRate, 1);
    context.changed();
  }

  /** @param {Float32Array} data - interleaved @param {number} rate @param {number} channels */
  function show(data, rate, channels) {
    const wav = encodeWav(data, rate, channels);
    const file = new File([wav], t("recording_name"), { type: "audio/wav" });
    box.set(file);
    const wire = { kind: "audio", buffer: 0, encoding: "f32", sample_rate: rate, channels };
    samples = { wire, buffers: [new Uint8Array(data.buffer, data.byteOffset, data.byteLength)] };
  }

  function rest() {
    void recorder.stop();
    record.classList.remove("recording");
    label.textContent = t("record");
  }

  return {
    element: h("div", {}, live.element, box.element),
    async value() {
      const heard = live.take();
      if (heard) return heard;
      if (samples || !box.file) return samples;
      return (await isWav(box.file)) ? fileValue("audio", box.file) : decodeSound(box.file);
    },
    set(wire, buffers) {
      rest();
      live.close();
      if (wire.encoding !== "f32") return box.set(fileOf(wire, buffers));
      const data = /** @type {Uint8Array} */ (buffers[wire.buffer ?? -1]).slice();
      show(new Float32Array(data.buffer), wire.sample_rate, wire.channels);
    },
    take(file) {
      if (!/^(audio|video)\//.test(file.type) && !/\.wav$/i.test(file.name)) return false;
      live.close();
      return box.take(file);
    },
    rest() {
      rest();
      asleep = live.running();
      live.close();
    },
    wake() {
      if (asleep) void live.open();
      asleep = false;
    },
  };
}

/** @param {Blob} file */
function player(file) {
  const url = URL.createObjectURL(file);
  return h("audio", { controls: true, src: url, preload: "metadata" });
}

/** By content, since names and types lie. @param {Blob} file */
export async function isWav(file) {
  const head = new TextDecoder("latin1").decode(await file.slice(0, 12).arrayBuffer());
  return head.startsWith("RIFF") && head.endsWith("WAVE");
}

/** The samples of a file that the browser can decode. @param {File} file @throws {Error} a sentence */
export async function decodeSound(file) {
  const context = new OfflineAudioContext(1, 1, DECODE_HZ);
  const sound = await context.decodeAudioData(await file.arrayBuffer()).catch(() => {
    throw new Error(t("audio_broken", { name: file.name }));
  });
  const channels = sound.numberOfChannels;
  const data = new Float32Array(sound.length * channels);
  for (let c = 0; c < channels; c += 1) {
    const channel = sound.getChannelData(c);
    for (let i = 0; i < channel.length; i += 1) data[i * channels + c] = channel[i] ?? 0;
  }
  const wire = { kind: "audio", buffer: 0, encoding: "f32", sample_rate: sound.sampleRate, channels };
  return { wire, buffers: [new Uint8Array(data.buffer)] };
}
