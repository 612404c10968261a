/** Splits CSV for the preview. Python reads the bytes itself; this only shows the visitor what was given. */

/**
 * @param {string} text - separated by commas, semicolons, tabs or bars; fields may be quoted (RFC 4180)
 * @param {number} limit - rows to read
 * @returns {{rows: string[][], more: number}} `more` counts the lines that were not read
 */
export function previewCsv(text, limit) {
  const body = text.replace(/^\uFEFF/, "").trimEnd();
  const first = body.slice(0, body.search(/\r?\n|$/));
  const separator = ["\t", ";", "|", ","].find((sign) => first.includes(sign)) ?? ",";
  /** @type {string[][]} */
  const rows = [];
  /** @type {string[]} */
  let row = [];
  let cell = "";
  let quoted = false;
  let i = 0;
  for (; i < body.length && rows.length < limit; i += 1) {
    const sign = body.charAt(i);
    if (quoted) {
      if (sign !== '"') cell += sign;
      else if (body.charAt(i + 1) === '"') cell += body.charAt((i += 1));
      else quoted = false;
    } else if (sign === '"' && cell === "") quoted = true;
    else if (sign === separator || sign === "\n") {
      row.push(cell.replace(/\r$/, ""));
      cell = "";
      if (sign === "\n") {
        rows.push(row);
        row = [];
      }
    } else cell += sign;
  }
  if (rows.length < limit && (cell !== "" || row.length)) rows.push([...row, cell]);
  const rest = body.slice(i).trim();
  return { rows, more: rest ? rest.split("\n").length : 0 };
}
