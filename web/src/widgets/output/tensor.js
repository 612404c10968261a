/** A tensor: type, shape, range, the beginning of its values, and the whole as .npy. */

import { button, h, icon, save } from "../../dom.js";
import { count, number, t } from "../../words.js";
import { statistics } from "../npy.js";

/** @type {import("../widget.js").MakeOutput} */
export function tensor(display, buffers) {
  const data = /** @type {Uint8Array<ArrayBuffer>} */ (buffers[display.buffer ?? -1]);
  /** @type {number[]} */
  const shape = display.shape ?? [];
  const size = shape.reduce((product, n) => product * n, 1);
  const stats = statistics(data);
  const brief = (/** @type {number} */ n) => number(n, { maximumSignificantDigits: 5 });
  /** @type {[string, string][]} */
  const facts = [
    [t("dtype"), String(display.dtype)],
    [t("shape"), shape.length ? shape.join(" × ") : t("scalar")],
  ];
  if (stats) facts.push([t("minimum"), brief(stats.min)], [t("mean"), brief(stats.mean)], [t("maximum"), brief(stats.max)]);
  const odd = stats?.odd ? h("p", { class: "fine" }, t("not_finite", { n: stats.odd })) : null;
  const download = () => save(new Blob([data], { type: "application/octet-stream" }), "tensor.npy");
  const element = h("div", { class: "stack" },
    h("dl", { class: "facts" }, ...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    odd,
    h("pre", { class: "code", tabindex: 0 }, String(display.text ?? "")),
    h("div", { class: "row" }, h("span", { class: "fine" }, count("tensor_values", size)),
      button({ class: "button quiet", onclick: download }, icon("download"), t("download"))));
  return { element, summary: facts.map((fact) => fact.join(" ")).join(", ") };
}
