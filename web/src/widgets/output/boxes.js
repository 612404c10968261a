/**
 * Boxes over the picture that they were found in, and the same as a list. Where there are more labels than colours, as
 * lines of text have, boxes carry numbers instead: labels would cover each other and what they name.
 */

import { h, svg } from "../../dom.js";
import { count, percent, t } from "../../words.js";
import { paintRgba } from "../picture.js";

/** @typedef {{label: string, score: number, box: [number, number, number, number]}} Box corners x0, y0, x1, y1, pixels */

const HUES = 6; // classes .hue-0 ... in result.css

/** @type {import("../widget.js").MakeOutput} */
export function boxes(display, buffers) {
  const { width, height } = display;
  /** @type {Box[]} */
  const items = display.items ?? [];
  const picture = display.buffer === undefined ? null : buffers[display.buffer];
  const kinds = [...new Set(items.map(({ label }) => label))];
  const numbered = kinds.length > HUES;
  const hue = (/** @type {Box} */ { label }) => `hue-${numbered ? 0 : kinds.indexOf(label)}`;
  const summary = items.length
    ? `${count("boxes", items.length)}: ${items.map(({ label }) => label).join(", ")}`
    : t("no_boxes");
  const overlay = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "overlay", "aria-hidden": "true" },
    ...items.map((item) => outline(item, hue(item))));
  const stage = h("div", { class: "stage", role: "img", "aria-label": summary },
    picture ? paintRgba(picture, width, height) : h("canvas", { class: "picture blank", width, height }),
    overlay,
    ...items.map((item, i) => tag(item, numbered ? String(i + 1) : item.label, hue(item), width, height)));
  if (numbered) stage.classList.add("numbered");
  const list = numbered ? h("ol", { class: "numbers" }, ...items.map((item) => h("li", {}, text(item))))
    : h("ul", { class: "legend" }, ...items.map((item) =>
      h("li", { class: hue(item) }, h("span", { class: "swatch", "aria-hidden": "true" }), text(item))));
  const element = h("div", { class: "stack" }, stage, items.length ? list : h("p", { class: "fine" }, summary));
  return { element, summary };
}

/** @param {Box} item @param {string} hue */
function outline({ box: [x0, y0, x1, y1] }, hue) {
  return svg("rect", { class: `outline ${hue}`, x: x0, y: y0, width: Math.max(0, x1 - x0), height: Math.max(0, y1 - y0) });
}

/** @param {Box} item @param {string} content @param {string} hue @param {number} width @param {number} height */
function tag(item, content, hue, width, height) {
  const node = h("span", { class: `tag ${hue}`, "aria-hidden": "true" }, content);
  const [x0, y0, x1] = item.box;
  const share = (/** @type {number} */ x) => `${(100 * Math.min(Math.max(x, 0), width)) / width}%`;
  if (x0 > 0.6 * width && content === item.label) node.style.right = share(width - x1); // words end with the box there
  else {
    node.style.left = share(x0);
    if (x0 > 0.4 * width) node.style.maxWidth = share(width - x0);
  }
  node.style.top = `${(100 * Math.min(Math.max(y0, 0), height)) / height}%`;
  if (x0 / width < 0.06) node.classList.add("first"); // no room to the left of it
  if (y0 / height < 0.06) node.classList.add("inside"); // no room above the box
  return node;
}

/** @param {Box} item */
function text({ label, score }) {
  return Number.isFinite(Number(score)) ? `${label} ${percent(Number(score), 0)}` : label;
}
