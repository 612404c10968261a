/** A table: the first rows to look at, all of them to download. */

import { button, h, icon, save } from "../../dom.js";
import { count, number, t } from "../../words.js";
import { grid } from "../grid.js";

const SHOWN_ROWS = 200;

/** @type {import("../widget.js").MakeOutput} */
export function table(display) {
  const columns = /** @type {unknown[]} */ (display.columns ?? []).map(String);
  const rows = /** @type {unknown[][]} */ (display.rows ?? []).map((row) => row.map((cell) => String(cell ?? "")));
  const summary = count("rows", rows.length);
  const more = rows.length - SHOWN_ROWS;
  const download = () => save(new Blob([csv([columns, ...rows])], { type: "text/csv" }), "table.csv");
  const element = h("div", { class: "stack" },
    grid(columns, rows.slice(0, SHOWN_ROWS), display.align),
    more > 0 && h("p", { class: "fine" }, t("table_more", { n: number(more) })),
    h("div", { class: "row" }, h("span", { class: "fine" }, summary),
      button({ class: "button quiet", onclick: download }, icon("download"), t("download"))));
  return { element, summary };
}

/** @param {string[][]} rows */
function csv(rows) {
  const quote = (/** @type {string} */ cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return rows.map((row) => `${row.map(quote).join(",")}\r\n`).join("");
}
