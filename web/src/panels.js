/**
 * The tabs of a page: the form, the app's Python, and its model. What stands behind the latter two is loaded when somebody
 * opens them. An address ending in #python or #model opens one at once.
 */

import { h } from "./dom.js";
import { tabs } from "./tabs.js";
import { t } from "./words.js";

/** @typedef {{element: HTMLElement, shown?: () => void}} Panel */

/**
 * @param {HTMLElement} form - what the first tab shows
 * @param {Record<string, () => Promise<Panel>>} others - by the name in the address; each is made once
 * @returns {{elements: HTMLElement[], open: (name: string) => void}}
 */
export function panels(form, others) {
  const wanted = location.hash.slice(1);
  const names = ["", ...Object.keys(others)];
  const places = names.map((name) => (name ? h("div", { class: "sheet" }) : form));
  /** @type {Map<string, Promise<Panel>>} */
  const made = new Map();
  const choose = async (/** @type {number} */ chosen) => {
    const name = names[chosen] ?? "";
    places.forEach((place, i) => (place.hidden = i !== chosen));
    const { pathname, search, hash } = location;
    if (names.includes(hash.slice(1)) && hash !== `#${name}`) history.replaceState(null, "", pathname + search);
    if (name && hash !== `#${name}`) history.replaceState(null, "", `#${name}`);
    const make = others[name];
    if (!make) return;
    const place = places[chosen];
    if (!made.has(name)) {
      place?.replaceChildren(h("p", { class: "empty" }, t("panel_loading")));
      made.set(name, make());
    }
    try {
      const panel = await /** @type {Promise<Panel>} */ (made.get(name));
      if (panel.element.parentElement !== place) place?.replaceChildren(panel.element);
      panel.shown?.();
    } catch (error) {
      made.delete(name); // the next look tries again
      place?.replaceChildren(h("p", { class: "empty" }, t("panel_failed", { message: /** @type {Error} */ (error).message })));
    }
  };
  const labels = [t("tab_try"), ...names.slice(1).map((name) => t(name === "python" ? "tab_python" : "tab_model"))];
  const list = tabs(places.map((panel, i) => ({ name: labels[i] ?? "", panel })), (i) => void choose(i), { stem: "sheet", label: t("sheets") });
  const open = (/** @type {string} */ name) => names.includes(name) && list.select(names.indexOf(name));
  if (wanted) open(wanted);
  addEventListener("hashchange", () => void open(location.hash.slice(1)));
  return { elements: [list.element, ...places], open };
}
