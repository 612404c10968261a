/** Tabs for an app with several functions, as WAI-ARIA describes them: arrows move, one tab stop. */

import { h } from "./dom.js";
import { t } from "./words.js";

/**
 * @param {{name: string, panel: HTMLElement}[]} entries
 * @param {(i: number) => void} choose - shows the panel
 */
export function tabs(entries, choose) {
  const buttons = entries.map(({ name, panel }, i) => {
    panel.id = `view-${i}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", `tab-${i}`);
    return h("button", { type: "button", class: "tab", role: "tab", id: `tab-${i}`, "aria-controls": panel.id, onclick: () => select(i) }, name);
  });
  /** @param {number} chosen */
  function select(chosen) {
    buttons.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === chosen));
      tab.tabIndex = i === chosen ? 0 : -1;
    });
    choose(chosen);
  }
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": t("functions") }, ...buttons);
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
  return list;
}
