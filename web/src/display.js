/**
 * What an app returned, drawn; and what went wrong, in a sentence.
 */

import { button, h } from "./dom.js";
import { t } from "./words.js";
import { outputs } from "./widgets/output/index.js";

/** @import { AppError, FormField, WireValue } from "./protocol.js" */
/** @import { Word } from "./words.js" */

/**
 * @param {FormField[]} fields - what the function declares
 * @param {WireValue[]} displays
 * @param {Uint8Array[]} buffers
 * @param {string} note - in small print below
 * @returns {{element: HTMLElement, summary: string}}
 */
export function showResult(fields, displays, buffers, note) {
  const shown = displays.map((display) => (outputs[display.kind] ?? outputs.json)?.(display, buffers));
  const parts = displays.map((display, i) =>
    h("section", { class: `output output-${display.kind}` },
      displays.length > 1 && h("h3", {}, fields[i]?.label ?? display.kind), // one output needs no name beside "Result"
      shown[i]?.element));
  const element = h("div", { class: "outputs" }, ...parts, h("p", { class: "fine took" }, note));
  return { element, summary: shown.map((one) => one?.summary).join("; ") };
}

/** @type {Record<string, Word>} */
const titles = {
  InvalidInput: "error_input",
  InvalidModel: "error_model",
  UnsupportedOp: "error_op",
  ProviderError: "error_provider",
  Refused: "error_provider",
  AssetError: "error_load",
  StartError: "error_load",
  Stalled: "error_load",
};

/**
 * @param {AppError} error
 * @param {{label: Word, onclick: () => void}[]} [actions]
 */
export function showError(error, actions = []) {
  const title = titles[error.type];
  return h("div", { class: "error", role: "alert" },
    h("h3", {}, t(title ?? "error")),
    h("p", { class: "error-message", dir: "auto" }, error.message || error.type),
    error.hint && h("p", { class: "error-hint", dir: "auto" }, error.hint),
    actions.length > 0 &&
      h("div", { class: "row" }, ...actions.map(({ label, onclick }) => button({ onclick }, t(label)))),
    error.traceback &&
      h("details", {}, h("summary", {}, t("traceback")), h("pre", { class: "code", tabindex: 0 }, error.traceback)));
}
