/** Text: one line or several. Ctrl+Enter runs from a text of several lines. */

import { h } from "../../dom.js";

/** @type {import("../widget.js").MakeInput} */
export function text(field, context) {
  const { lines = 3, placeholder, max_length: maxlength } = field.options;
  const shared = { class: "entry", placeholder, maxlength, autocomplete: "off", oninput: context.changed };
  const box = lines > 1 ? h("textarea", { ...shared, rows: Math.min(lines, 16) }) : h("input", { ...shared, type: "text" });
  const start = typeof field.default === "string" ? field.default : "";
  box.value = start;
  box.addEventListener("keydown", (event) => {
    const { key, ctrlKey, metaKey } = /** @type {KeyboardEvent} */ (event);
    if (key === "Enter" && (ctrlKey || metaKey)) box.form?.requestSubmit();
  });
  return {
    element: box,
    control: box,
    async value() {
      return box.value === "" && start === "" ? null : { wire: { kind: "text", text: box.value }, buffers: [] };
    },
    set(wire) {
      box.value = String(wire.text ?? wire.value ?? "");
    },
  };
}
