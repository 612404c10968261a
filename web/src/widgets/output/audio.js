/** Sound, to play and to download. */

import { button, h, icon, save } from "../../dom.js";
import { encodeWav } from "../../media/wav.js";
import { count, duration, number, t } from "../../words.js";

/** @type {import("../widget.js").MakeOutput} */
export function audio(display, buffers) {
  const { sample_rate: rate, channels } = display;
  const data = /** @type {Uint8Array} */ (buffers[display.buffer ?? -1]).slice(); // aligned to 4 bytes
  const wav = encodeWav(new Float32Array(data.buffer), rate, channels);
  const time = duration((1000 * data.byteLength) / 4 / channels / rate);
  const summary = t("audio_length", { time, rate: number(rate), channels: count("channels", channels) });
  const element = h("div", { class: "stack" },
    h("audio", { controls: true, src: URL.createObjectURL(wav) }),
    h("div", { class: "row" }, h("span", { class: "fine" }, summary),
      button({ class: "button quiet", onclick: () => save(wav, "audio.wav") }, icon("download"), t("download"))));
  return { element, summary };
}
