/** What a value inside the model holds: its figures, how its numbers are spread, and a small picture of them. */

import { h, svg } from "../dom.js";
import { number, t } from "../words.js";

/** @import { ValueSummary } from "../protocol.js" */

const UNFIT = 255; // the level of what is no finite number, as value_summary.py has it
/** From the least to the greatest: dark to light in every kind of colour vision. @type {[number, number, number][]} */
const COLOURS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const RED = /** @type {[number, number, number]} */ ([214, 40, 40]);

/**
 * @param {ValueSummary} value
 * @param {string} name
 */
export function showValue(value, name) {
  const shape = value.shape ? value.shape.join(" × ") || t("scalar") : "";
  const { nan = 0, infinite = 0 } = value;
  /** @type {[string, string][]} */
  const rows = [
    [t("dtype"), value.type],
    [t("shape"), shape],
    [t("minimum"), figure(value.min)],
    [t("maximum"), figure(value.max)],
    [t("mean"), figure(value.mean)],
    [t("deviation"), figure(value.std)],
    [t("zeros"), value.zeros === undefined ? "" : number(value.zeros)],
    [t("nan"), value.nan === undefined ? "" : number(nan)],
    [t("infinite"), infinite ? number(infinite) : ""],
  ];
  const facts = h("dl", { class: "facts" }, ...rows.filter(([, text]) => text).map(([label, text]) => h("div", {}, h("dt", {}, label), h("dd", {}, text))));
  return h("div", { class: "stack value-view" }, facts,
    value.histogram ? histogram(value.histogram) : null,
    value.picture ? picture(value.picture, name) : null,
    h("p", { class: "mono fine value-few" }, value.few));
}

/** @param {number | string | null | undefined} value */
function figure(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  const small = value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e7);
  return Number.isInteger(value) && !small ? number(value) : number(value, { maximumSignificantDigits: 6, notation: small ? "scientific" : "standard" });
}

/** @param {NonNullable<ValueSummary["histogram"]>} histogram */
function histogram({ low, high, counts }) {
  const most = Math.max(...counts, 1);
  const width = 100 / counts.length;
  const bars = counts.map((n, i) => svg("rect", { class: "chart-model", x: i * width, y: 30 - (30 * n) / most, width: width * 0.9, height: (30 * n) / most }));
  const label = t("histogram", { low: figure(low), high: figure(high) });
  return h("figure", { class: "chart-figure" },
    svg("svg", { class: "chart", viewBox: "0 0 100 30", preserveAspectRatio: "none", role: "img", "aria-label": label }, ...bars),
    h("figcaption", { class: "fine" }, h("span", {}, figure(low)), h("span", { class: "chart-end" }, figure(high))));
}

/** @param {NonNullable<ValueSummary["picture"]>} picture @param {string} name */
function picture({ width, height, tiles, of, pixels }, name) {
  const levels = Uint8Array.from(atob(pixels), (c) => c.charCodeAt(0));
  const shown = Array.from({ length: tiles }, (_, tile) => {
    const canvas = h("canvas", { class: "heat", width, height, role: "img", "aria-label": t("heat", { name, n: tile + 1, of }) });
    const image = new ImageData(width, height);
    for (let i = 0; i < width * height; i++) {
      const level = levels[tile * width * height + i] ?? UNFIT;
      image.data.set([...(level === UNFIT ? RED : colour(level / (UNFIT - 1))), 255], 4 * i);
    }
    canvas.getContext("2d")?.putImageData(image, 0, 0);
    return canvas;
  });
  return h("figure", {}, h("div", { class: "heats" }, ...shown),
    h("figcaption", { class: "fine" }, of > tiles ? t("heat_some", { n: tiles, of }) : t("heat_scale")));
}

/** @param {number} share - 0 to 1 */
function colour(share) {
  const at = share * (COLOURS.length - 1);
  const i = Math.min(Math.floor(at), COLOURS.length - 2);
  const [a, b] = [COLOURS[i] ?? RED, COLOURS[i + 1] ?? RED];
  return a.map((from, k) => Math.round(from + (at - i) * ((b[k] ?? 0) - from)));
}
