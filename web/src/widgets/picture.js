/** Pixels on a canvas, for inputs and outputs alike. */

import { h } from "../dom.js";

/**
 * @param {Uint8Array} rgba - width * height * 4 bytes, rows from the top
 * @param {number} width
 * @param {number} height
 */
export function paintRgba(rgba, width, height) {
  const canvas = h("canvas", { class: "picture", width, height });
  if (width === 0 || height === 0) return canvas;
  const pixels = new Uint8ClampedArray(rgba.slice().buffer, 0, width * height * 4);
  canvas.getContext("2d")?.putImageData(new ImageData(pixels, width, height), 0, 0);
  if (Math.max(width, height) <= 128) canvas.classList.add("pixelated"); // small pictures show their pixels, not a blur
  return canvas;
}
