/** Anything else, as the exact text that Python wrote: no digit passes through a JavaScript number. */

import { h } from "../../dom.js";
import { copyButton } from "./text.js";

/** @type {import("../widget.js").MakeOutput} */
export function json(display) {
  const content = String(display.text ?? JSON.stringify(display, null, 2));
  const element = h("div", { class: "stack" },
    h("pre", { class: "code", tabindex: 0 }, content),
    h("div", { class: "row" }, copyButton(content)));
  return { element, summary: content.slice(0, 200) };
}
