/**
 * Passages highlighted in their text, and the same as a list, which is what a screen reader hears of labels and scores;
 * answers stand above the text that they were found in.
 */

import { h } from "../../dom.js";
import { count, percent, t } from "../../words.js";

/**
 * @typedef {{label: string, score: number | string, start: number, end: number, word: string}} Item start and end count
 *   code points, end outside; label: "" where the passage itself is what was asked for
 */

const HUES = 6; // classes .hue-0 ... in result.css
const AT_A_GLANCE = 20;

/** @type {import("../widget.js").MakeOutput} */
export function spans(display) {
  const characters = Array.from(String(display.text ?? "")); // as Python counts them
  /** @type {Item[]} */
  const items = display.items ?? [];
  const ranked = [...items].sort((a, b) => Number(b.score) - Number(a.score));
  const best = ranked[0];
  const kinds = [...new Set(items.map(({ label }) => label))];
  const hue = (/** @type {Item} */ { label }) => `hue-${kinds.indexOf(label) % HUES}`;
  const marked = passages(characters.length, ranked).map(({ start, end, item }) => {
    const part = characters.slice(start, end).join("");
    if (!item) return document.createTextNode(part);
    const name = item.label && item.end === end && h("span", { class: "span-label", "aria-hidden": "true" }, item.label);
    return h("mark", { class: `span ${hue(item)}${item.label || item === best ? "" : " lesser"}` }, part, name);
  });
  const rows = items.map((item) =>
    h("li", { class: hue(item) }, h("span", { class: "swatch", "aria-hidden": "true" }),
      h("span", {}, h("bdi", {}, said(item)), h("span", { class: "fine" }, ` ${[item.label, share(item)].filter(Boolean).join(" ")}`))));
  const answers = best?.label === "";
  const summary = best
    ? `${count("spans", items.length)}: ${items.slice(0, AT_A_GLANCE).map((item) => `${said(item)} ${item.label}`.trim()).join(", ")}`
    : t("no_boxes");
  const rest = rows.slice(AT_A_GLANCE);
  const element = h("div", { class: "stack" },
    answers && h("p", { class: "headline" }, h("strong", { dir: "auto" }, said(best)),
      h("span", { class: "headline-score" }, share(best))),
    h("p", { class: "prose spans", dir: "auto", tabindex: 0 }, ...marked),
    !best && h("p", { class: "fine" }, summary),
    rows.length > (answers ? 1 : 0) && h("ul", { class: "legend" }, ...rows.slice(0, AT_A_GLANCE)),
    rest.length > 0 &&
      h("details", {}, h("summary", {}, t("more_labels", { n: rest.length })), h("ul", { class: "legend" }, ...rest)));
  return { element, summary: answers ? `${said(best)}, ${share(best)}` : summary };
}

/**
 * The text cut where passages begin and end; where several overlap the best one is shown.
 * @param {number} length - of the text
 * @param {Item[]} ranked - best first
 */
function passages(length, ranked) {
  const cuts = [...new Set([0, length, ...ranked.flatMap(({ start, end }) => [start, end])])].sort((a, b) => a - b);
  /** @type {{start: number, end: number, item: Item | undefined}[]} */
  const parts = [];
  for (const [i, end] of cuts.slice(1).entries()) {
    const start = cuts[i] ?? 0;
    const item = ranked.find((one) => one.start <= start && one.end >= end);
    const last = parts.at(-1);
    if (last && last.item === item) last.end = end;
    else parts.push({ start, end, item });
  }
  return parts;
}

/** @param {Item} item */
function said({ word, start, end }) {
  return word || (start === end ? t("no_answer") : "");
}

/** @param {Item} item */
function share({ score }) {
  const n = Number(score);
  return Number.isFinite(n) && n >= 0 && n <= 1 ? percent(n, n > 0 && n < 1 ? 1 : 0) : String(score);
}
