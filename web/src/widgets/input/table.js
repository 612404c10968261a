/** A table: a CSV file, or rows pasted from a spreadsheet. The first line names the columns. */

import { fresh, h } from "../../dom.js";
import { number, t } from "../../words.js";
import { previewCsv } from "../csv.js";
import { grid } from "../grid.js";
import { FileBox, fileLine, fileOf, fileValue } from "./file-box.js";

const SHOWN_ROWS = 6;
const PREVIEW_BYTES = 256 * 1024; // a preview of a large file reads its beginning only

/** @type {import("../widget.js").MakeInput} */
export function table(field, context) {
  /** @type {string[]} */
  const columns = field.options.columns ?? [];
  /** @type {import("../../protocol.js").WireValue | null} */
  let cells = null; // an example given as cells, not as a file
  const box = new FileBox(context, {
    symbol: "table",
    prompt: "drop_table",
    choose: "choose_table",
    accept: ".csv,.tsv,.txt,text/csv",
    shown(file) {
      cells = null;
      paste.value = "";
      if (file) void preview(file);
    },
  });
  const id = fresh("paste");
  const paste = h("textarea", { id, class: "entry mono", rows: 3, spellcheck: "false", placeholder: columns.join(",") });
  paste.addEventListener("input", () => {
    const typed = paste.value;
    const file = typed.trim() ? new File([typed], "table.csv", { type: "text/csv" }) : null;
    box.set(file);
    paste.value = typed; // `shown` emptied it
    context.changed();
  });

  /** @param {File} file */
  async function preview(file) {
    const { rows, more } = previewCsv(await file.slice(0, PREVIEW_BYTES).text(), SHOWN_ROWS + 1);
    if (file !== box.file) return;
    const [first = [], ...rest] = rows;
    const named = !first.some((cell) => cell.trim() !== "" && Number.isFinite(Number(cell))); // the rule of Table.open
    if (named) fill(first, rest.slice(0, SHOWN_ROWS), more, fileLine(file));
    else fill(first.map((_, i) => String(i + 1)), rows.slice(0, SHOWN_ROWS), more, fileLine(file));
  }

  /** @param {string[]} head @param {string[][]} rows @param {number} more @param {HTMLElement} [line] */
  function fill(head, rows, more, line) {
    const rest = more > 0 ? h("p", { class: "fine" }, t("table_more", { n: number(more) })) : null;
    box.preview.replaceChildren(grid(head, rows));
    for (const node of [rest, line]) if (node) box.preview.append(node);
  }

  const expected = columns.length ? h("p", { class: "fine" }, t("columns", { names: columns.join(", ") })) : null;
  return {
    element: h("div", { class: "stack" }, box.element, expected, h("label", { class: "fine", for: id }, t("paste_table")), paste),
    async value() {
      return cells ? { wire: cells, buffers: [] } : box.file && fileValue("table", box.file);
    },
    set(wire, buffers) {
      if (wire.buffer !== undefined) return box.set(fileOf(wire, buffers));
      box.set(null);
      box.occupied(true);
      cells = wire;
      const rows = /** @type {unknown[][]} */ (wire.rows).map((row) => row.map((cell) => String(cell ?? "")));
      fill(wire.columns, rows.slice(0, SHOWN_ROWS), rows.length - SHOWN_ROWS);
    },
    take: (file) => (/\.(csv|tsv|txt)$/i.test(file.name) ? box.take(file) : false),
  };
}
