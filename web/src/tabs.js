/** Tabs, as WAI-ARIA describes them: arrows move, one tab stop. An app with several functions has them, and every page. */

import { h } from "./dom.js";

/**
 * @param {{name: string, panel: HTMLElement}[]} entries
 * @param {(i: number) => void} choose - shows the panel
 * @param {{stem: string, label: string}} names - what their ids begin with; what all of them are
 * @returns {{element: HTMLElement, select: (i: number) => void}}
 */
export function tabs(entries, choose, { stem, label }) {
  const buttons = entries.map(({ name, panel }, i) => {
    panel.id = `${stem}-${i}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", `${stem}-tab-${i}`);
    return h("button", { type: "button", class: "tab", role: "tab", id: `${stem}-tab-${i}`, "aria-controls": panel.id, onclick: () => select(i) }, name);
  });
  /** @param {number} chosen */
  function select(chosen) {
    buttons.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === chosen));
      tab.tabIndex = i === chosen ? 0 : -1;
    });
    choose(chosen);
  }
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": label }, ...buttons);
  list.addEventListener("keydown", (event) => {
    const at = buttons.findIndex((tab) => tab === event.target);
    const last = buttons.length - 1;
    /** @type {Record<string, number>} */
    const moves = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last };
    const next = moves[event.key];
    if (next === undefined) return;
    event.preventDefault();
    select(next);
    buttons[next]?.focus();
  });
  select(0);
  return { element: list, select };
}
