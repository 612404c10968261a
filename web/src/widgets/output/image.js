/** A picture, with its pixels as they came. */

import { button, h, icon, save } from "../../dom.js";
import { t } from "../../words.js";
import { paintRgba } from "../picture.js";

/** @type {import("../widget.js").MakeOutput} */
export function image(display, buffers) {
  const { width, height } = display;
  const rgba = /** @type {Uint8Array} */ (buffers[display.buffer ?? -1]);
  const canvas = paintRgba(rgba, width, height);
  if (isSeeThrough(rgba)) canvas.classList.add("see-through");
  const summary = t("picture", { width, height });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", summary);
  const element = h("div", { class: "stack" }, canvas, h("div", { class: "row" }, downloadCanvas(canvas, "image.png")));
  return { element, summary };
}

/** @param {HTMLCanvasElement} canvas @param {string} name */
export function downloadCanvas(canvas, name) {
  const onclick = () => canvas.toBlob((blob) => blob && save(blob, name), "image/png");
  return button({ class: "button quiet", onclick }, icon("download"), t("download"));
}

/** A loop, as live pictures come many times a second. @param {Uint8Array} rgba */
function isSeeThrough(rgba) {
  for (let i = 3; i < rgba.length; i += 4) if (rgba[i] !== 255) return true;
  return false;
}
