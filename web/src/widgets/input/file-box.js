/**
 * The box that every input made from a file shares: choose, drop, replace, remove. The kinds differ in what they accept
 * and in the preview that they put into `preview`.
 */

import { button, h, icon } from "../../dom.js";
import { bytes, t } from "../../words.js";

/** @import { Word } from "../../words.js" */
/** @import { InputContext } from "../widget.js" */

export class FileBox {
  /** @type {File | null} */
  file = null;
  preview = h("div", { class: "drop-preview", hidden: true });
  #prompt;
  #remove;
  #picker;
  #maxBytes;
  #context;
  #shown;

  /**
   * @param {InputContext} context
   * @param {{symbol: Parameters<typeof icon>[0], prompt: Word, choose: Word, accept?: string, maxBytes?: number,
   *   extras?: HTMLElement[], shown: (file: File | null) => void}} options - `shown` fills the preview; `extras` are buttons
   */
  constructor(context, { symbol, prompt, choose, accept, maxBytes, extras = [], shown }) {
    this.#context = context;
    this.#maxBytes = maxBytes;
    this.#shown = shown;
    this.#picker = h("input", { type: "file", accept, hidden: true, onchange: () => this.#picked() });
    this.#prompt = h("p", { class: "drop-prompt" }, icon(symbol), h("span", {}, t(prompt)));
    this.#remove = button({ class: "button quiet", hidden: true, onclick: () => this.#removed() }, icon("clear"), t("remove"));
    const pick = button({ onclick: () => this.#picker.click() }, icon("upload"), t(choose));
    this.element = h("div", { class: "drop" }, this.#prompt, this.preview, this.#picker,
      h("div", { class: "row" }, pick, ...extras, this.#remove));
    this.element.addEventListener("dragover", (event) => {
      event.preventDefault();
      this.element.classList.add("over");
    });
    this.element.addEventListener("dragleave", () => this.element.classList.remove("over"));
    this.element.addEventListener("drop", (event) => {
      event.preventDefault();
      event.stopPropagation(); // else the page gives the file to its first field
      this.element.classList.remove("over");
      const file = event.dataTransfer?.files[0];
      if (file) this.take(file);
    });
  }

  /** A file that the visitor gave. @param {File} file */
  take(file) {
    if (this.#maxBytes && file.size > this.#maxBytes) {
      this.#context.complain(t("too_large", { name: file.name, size: bytes(file.size), limit: bytes(this.#maxBytes) }));
      return true;
    }
    this.set(file);
    this.#context.complain("");
    this.#context.changed();
    return true;
  }

  /** Shows a file, or that there is none. @param {File | null} file */
  set(file) {
    this.file = file;
    this.occupied(file !== null);
    this.#shown(file);
  }

  /** @param {boolean} full - whether the preview stands in the place of the prompt */
  occupied(full) {
    this.preview.hidden = !full;
    this.#prompt.hidden = full;
    this.#remove.hidden = !full;
    if (!full) this.preview.replaceChildren();
  }

  #picked() {
    const file = this.#picker.files?.[0];
    this.#picker.value = ""; // so that choosing the same file again is a change
    if (file) this.take(file);
  }

  #removed() {
    this.set(null);
    this.#context.complain("");
    this.#context.changed();
  }
}

/** The wire form of a whole file. @param {string} kind @param {File} file */
export async function fileValue(kind, file) {
  const wire = { kind, buffer: 0, name: file.name, type: file.type };
  return { wire, buffers: [new Uint8Array(await file.arrayBuffer())] };
}

/** The file of a wire form. @param {import("../../protocol.js").WireValue} wire @param {Uint8Array[]} buffers */
export function fileOf(wire, buffers) {
  const data = /** @type {Uint8Array<ArrayBuffer>} */ (buffers[wire.buffer ?? -1] ?? new Uint8Array());
  return new File([data], String(wire.name ?? ""), { type: String(wire.type ?? "") });
}

/** What a file is called and how large it is. @param {File} file */
export function fileLine(file) {
  return h("p", { class: "fine file-line" }, t("preview", { name: file.name, size: bytes(file.size) }));
}
