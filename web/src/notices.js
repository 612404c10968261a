/** What the page has to say above the form: a newer build, a worker that ended, no network. */

import { button, byId, h, icon } from "./dom.js";
import { t } from "./words.js";

/**
 * @param {string} key - a notice with the same key is replaced
 * @param {string} text
 * @param {{label: string, onclick: () => void}} [action]
 */
export function notify(key, text, action) {
  dismiss(key);
  const node = h("div", { class: "notice", "data-notice": key, role: "status" },
    h("p", { dir: "auto" }, text),
    action && button({ onclick: action.onclick }, action.label),
    button({ class: "button quiet small", "aria-label": t("remove"), onclick: () => node.remove() }, icon("clear")));
  byId("notices").append(node);
}

/** @param {string} key */
export function dismiss(key) {
  document.querySelector(`[data-notice="${key}"]`)?.remove();
}

/** Shows the badge while there is no network. */
export function watchNetwork() {
  const badge = byId("offline");
  const update = () => (badge.hidden = navigator.onLine);
  addEventListener("online", update);
  addEventListener("offline", update);
  update();
}
