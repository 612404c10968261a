/** One of several: radio buttons while they fit at a glance, a list beyond. */

import { fresh, h } from "../../dom.js";

const AT_A_GLANCE = 4;

/** @type {import("../widget.js").MakeInput} */
export function choice(field, context) {
  /** @type {unknown[]} */
  const choices = field.options.choices ?? [];
  const start = Math.max(0, choices.indexOf(field.default));
  return choices.length <= AT_A_GLANCE ? radios(choices, start, context) : list(choices, start, context);
}

/** @param {unknown[]} choices @param {number} start @param {import("../widget.js").InputContext} context */
function radios(choices, start, context) {
  const name = fresh("choice");
  const boxes = choices.map((_, i) => h("input", { type: "radio", name, value: i, checked: i === start, onchange: context.changed }));
  const rows = choices.map((value, i) => h("label", { class: "option" }, boxes[i], h("span", {}, String(value))));
  return widget(h("div", { class: "options" }, ...rows), choices, {
    index: () => boxes.findIndex((box) => box.checked),
    select: (i) => {
      const box = boxes[i];
      if (box) box.checked = true;
    },
  });
}

/** @param {unknown[]} choices @param {number} start @param {import("../widget.js").InputContext} context */
function list(choices, start, context) {
  const options = choices.map((value, i) => h("option", { value: i }, String(value)));
  const box = h("select", { class: "entry", onchange: context.changed }, ...options);
  box.selectedIndex = start;
  const made = widget(box, choices, {
    index: () => box.selectedIndex,
    select: (i) => {
      box.selectedIndex = i;
    },
  });
  return { ...made, control: box };
}

/**
 * @param {HTMLElement} element
 * @param {unknown[]} choices
 * @param {{index: () => number, select: (i: number) => void}} access
 * @returns {import("../widget.js").InputWidget}
 */
function widget(element, choices, { index, select }) {
  return {
    element,
    async value() {
      return { wire: { kind: "choice", value: choices[index()] }, buffers: [] };
    },
    set(wire) {
      select(choices.indexOf(wire.value));
    },
  };
}
