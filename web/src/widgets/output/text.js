/** Text, line breaks kept, to read and to copy. */

import { button, h, icon } from "../../dom.js";
import { t } from "../../words.js";

/** @type {import("../widget.js").MakeOutput} */
export function text(display) {
  const content = String(display.text ?? "");
  if (content === "") return { element: h("p", { class: "fine" }, t("empty_text")), summary: t("empty_text") };
  const element = h("div", { class: "stack" },
    h("p", { class: content.length < 80 ? "prose large" : "prose", dir: "auto" }, content),
    h("div", { class: "row" }, copyButton(content)));
  return { element, summary: content.slice(0, 200) };
}

/** @param {string} content */
export function copyButton(content) {
  const label = h("span", { "aria-live": "polite" }, t("copy"));
  const onclick = async () => {
    await navigator.clipboard.writeText(content);
    label.textContent = t("copied");
    setTimeout(() => (label.textContent = t("copy")), 2000);
  };
  // Only secure pages have a clipboard; elsewhere the text can still be selected.
  return navigator.clipboard ? button({ class: "button quiet", onclick }, icon("copy"), label) : null;
}
