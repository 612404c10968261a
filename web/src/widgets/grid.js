/** A table with named columns that scrolls inside itself. */

import { h } from "../dom.js";

/** Longer texts are sentences, which break into lines. */
const PROSE_CHARACTERS = 32;

/** @param {string[]} columns @param {string[][]} rows @param {string[]} [align] - "left", "right" a column */
export function grid(columns, rows, align = []) {
  /** @param {"th" | "td"} tag @param {string} text @param {number} i */
  const cell = (tag, text, i) => {
    const look = align[i] === "right" ? "right" : text.length > PROSE_CHARACTERS ? "prose" : null;
    return h(tag, { class: look, scope: tag === "th" ? "col" : null }, text);
  };
  const head = h("thead", {}, h("tr", {}, ...columns.map((name, i) => cell("th", name, i))));
  const body = h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((text, i) => cell("td", text, i)))));
  return h("div", { class: "grid", tabindex: 0 }, h("table", {}, columns.length > 0 && head, body));
}
