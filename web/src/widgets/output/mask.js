/** A mask laid over its picture, with a slider for how much of the picture shows through. */

import { fresh, h } from "../../dom.js";
import { t } from "../../words.js";
import { paintRgba } from "../picture.js";
import { downloadCanvas } from "./image.js";

/** @type {import("../widget.js").MakeOutput} */
export function mask(display, buffers) {
  const { width, height } = display;
  const levels = /** @type {Uint8Array} */ (buffers[display.buffer ?? -1]);
  const picture = display.picture === undefined ? null : buffers[display.picture];
  const summary = t("mask", { width, height });
  const cover = paintRgba(tint(levels, picture ? [255, 61, 127] : [11, 125, 94]), width, height);
  cover.classList.add("cover");
  const stage = h("div", { class: "stage", role: "img", "aria-label": summary },
    picture ? paintRgba(picture, width, height) : h("canvas", { class: "picture blank", width, height }), cover);
  const id = fresh("opacity");
  const slider = h("input", { id, type: "range", class: "slider", min: 0, max: 1, step: 0.05, value: picture ? 0.6 : 1 });
  const apply = () => cover.style.setProperty("opacity", slider.value);
  slider.addEventListener("input", apply);
  apply();
  const element = h("div", { class: "stack" }, stage,
    h("div", { class: "row" }, h("label", { for: id }, t("opacity")), slider,
      downloadCanvas(paintRgba(opaque(levels), width, height), "mask.png")));
  return { element, summary };
}

/** One colour, as opaque as the mask says. @param {Uint8Array} levels @param {[number, number, number]} colour */
function tint(levels, [red, green, blue]) {
  const rgba = new Uint8Array(levels.length * 4);
  levels.forEach((level, i) => rgba.set([red, green, blue, level], 4 * i));
  return rgba;
}

/** The mask itself as a grey picture. @param {Uint8Array} levels */
function opaque(levels) {
  const rgba = new Uint8Array(levels.length * 4);
  levels.forEach((level, i) => rgba.set([level, level, level, 255], 4 * i));
  return rgba;
}
