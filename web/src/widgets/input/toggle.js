/** Yes or no, as a switch. */

import { h } from "../../dom.js";

/** @type {import("../widget.js").MakeInput} */
export function toggle(field, context) {
  const box = h("input", { type: "checkbox", role: "switch", class: "switch", onchange: context.changed });
  box.checked = field.default === true;
  return {
    element: box,
    control: box,
    async value() {
      return { wire: { kind: "toggle", value: box.checked }, buffers: [] };
    },
    set(wire) {
      box.checked = wire.value === true;
    },
  };
}
