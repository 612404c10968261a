/** Labels with scores: the best one large, all of them as bars on one scale. */

import { h } from "../../dom.js";
import { number, percent, t } from "../../words.js";

const AT_A_GLANCE = 8;

/** @typedef {{label: string, score: number | string}} Item score: a string where it is no finite number */

/** @type {import("../widget.js").MakeOutput} */
export function labels(display) {
  /** @type {Item[]} */
  const items = display.items ?? [];
  const best = items[0];
  if (!best) return { element: h("p", { class: "fine" }, t("no_labels")), summary: t("no_labels") };
  const scores = items.map(({ score }) => Number(score)).filter(Number.isFinite);
  const shares = scores.every((score) => score >= 0 && score <= 1);
  const top = shares ? 1 : Math.max(...scores.map(Math.abs), Number.MIN_VALUE);
  const write = (/** @type {Item} */ item) => score(item, shares);
  const rows = items.map((item, i) => bar(item, write(item), Number(item.score) / top, i === 0));
  const rest = rows.slice(AT_A_GLANCE);
  const element = h("div", { class: "labels" },
    h("p", { class: "headline" }, h("strong", {}, best.label), h("span", { class: "headline-score" }, write(best))),
    h("ol", { class: "bars" }, ...rows.slice(0, AT_A_GLANCE)),
    rest.length > 0 &&
      h("details", {}, h("summary", {}, t("more_labels", { n: rest.length })), h("ol", { class: "bars" }, ...rest)));
  return { element, summary: `${best.label}, ${write(best)}` };
}

/** @param {Item} item @param {string} text @param {number} length - of the bar, at most 1 @param {boolean} best */
function bar(item, text, length, best) {
  const fill = h("span", { class: "bar-fill" });
  fill.style.setProperty("--length", String(Math.max(0, Math.min(1, length || 0))));
  return h("li", { class: best ? "bar best" : "bar" },
    h("span", { class: "bar-label" }, item.label),
    h("span", { class: "bar-track", "aria-hidden": "true" }, fill),
    h("span", { class: "bar-score" }, text));
}

/** @param {Item} item @param {boolean} shares - whether all scores are parts of a whole */
function score({ score: value }, shares) {
  const n = Number(value);
  if (!Number.isFinite(n)) return String(value);
  if (!shares) return number(n, { maximumSignificantDigits: 4 });
  if (n > 0 && n < 0.0005) return `< ${percent(0.001, 1)}`; // 0.0% would say never
  return percent(n, n > 0 && n < 1 ? 1 : 0);
}
