/**
 * A number: a field for exact entry, and a slider beside it where both ends are known. An integer beyond 2^53 crosses as
 * text, so that no digit is lost.
 */

import { h } from "../../dom.js";
import { t } from "../../words.js";

/** @type {import("../widget.js").MakeInput} */
export function number(field, context) {
  const { min, max, integer = false } = field.options;
  const step = field.options.step ?? (integer ? 1 : "any");
  const bounded = typeof min === "number" && typeof max === "number" && field.options.slider !== false;
  const box = h("input", { type: "number", class: "entry", min, max, step, inputmode: integer ? "numeric" : "decimal" });
  const fine = step === "any" && bounded ? (max - min) / 1000 : step;
  const slider = h("input", { type: "range", class: "slider", min, max, step: fine, tabindex: -1, "aria-hidden": "true" });
  box.addEventListener("input", () => {
    slider.value = box.value;
    context.changed();
  });
  slider.addEventListener("input", () => {
    box.value = slider.value;
    context.changed();
  });
  /** @param {unknown} value */
  const show = (value) => {
    box.value = value === null || value === undefined ? "" : String(value);
    slider.value = box.value;
  };
  show(field.default ?? (bounded && field.required ? min : null));
  const ends = bounded ? h("p", { class: "fine" }, t("range", { min, max })) : null;
  return {
    element: bounded ? h("div", { class: "number" }, slider, box, ends) : box,
    control: box,
    async value() {
      if (box.validity.badInput) throw new Error(t("number_broken", { label: field.label }));
      if (box.value === "") return null;
      const value = Number(box.value);
      const exact = !/^[-+]?\d+$/.test(box.value) || Number.isSafeInteger(value);
      return { wire: { kind: "number", value: exact ? value : box.value }, buffers: [] };
    },
    set(wire) {
      show(wire.value);
    },
  };
}
