/**
 * Python's prompt in the app's scope: reads lines, shows what comes of them, and remembers them for the arrow keys.
 *
 * Whether a line is complete is Python's to say. Several lines that are pasted go in one after the other.
 */

import { showError } from "../display.js";
import { button, fresh, h, icon } from "../dom.js";
import { t } from "../words.js";

/** @import { Client } from "../client.js" */

/** Pieces of output that stay on the page, and characters of one: printing in a loop must not fill its memory. */
const MOST = 2000;
const MOST_TEXT = 50_000;

export class Prompt {
  #client;
  #log = h("div", { class: "prompt-log", role: "log", tabindex: 0, "aria-label": t("console_output") });
  #sign = h("span", { class: "prompt-sign", "aria-hidden": "true" }, ">>>");
  #line = h("input", {
    class: "entry mono", type: "text", autocomplete: "off", autocapitalize: "off", autocorrect: "off", spellcheck: "false",
    "aria-label": t("console_line"), placeholder: "session.get_inputs()",
  });
  #stop = button({ class: "button stop", hidden: true, onclick: () => void this.#client.stop() }, icon("stop"), t("stop"));
  /** @type {string[]} */
  #history = [];
  #at = 0;
  #more = false;
  #busy = false;

  /** @param {Client} client */
  constructor(client) {
    this.#client = client;
    const title = fresh("console");
    const form = h("form", { class: "prompt-line" }, this.#sign, this.#line, this.#stop);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#enter([this.#line.value]);
    });
    this.#line.addEventListener("keydown", (event) => this.#key(event));
    this.#line.addEventListener("paste", (event) => {
      const lines = event.clipboardData?.getData("text").replace(/\n$/, "").split(/\r?\n/) ?? [];
      if (lines.length < 2) return;
      event.preventDefault();
      void this.#enter([this.#line.value + lines[0], ...lines.slice(1)]);
    });
    client.on("status", ({ state }) => state === "starting" && this.#forget());
    this.element = h("section", { class: "card prompt", "aria-labelledby": title },
      h("h2", { id: title, class: "eyebrow" }, t("console")),
      h("p", { class: "fine" }, t("console_note")),
      this.#log, form);
  }

  /** The panel is shown again. */
  rest() {
    this.#scroll();
  }

  /** @param {string[]} lines */
  async #enter(lines) {
    if (this.#busy) return;
    this.#busy = true;
    this.#log.setAttribute("aria-busy", "true");
    this.#line.value = "";
    const patience = setTimeout(() => (this.#stop.hidden = false), 300);
    for (const line of lines) {
      if (line.trim()) this.#history.push(line);
      this.#at = this.#history.length;
      this.#write("in", `${this.#more ? "..." : ">>>"} ${line}\n`);
      const answer = await this.#client.prompt(line, (kind, text) => this.#write(kind, text));
      this.#more = !("error" in answer) && answer.more;
      if (!("error" in answer)) continue;
      this.#log.append(answer.error.type === "Stopped" ? h("p", { class: "fine" }, t("console_stopped")) : showError(answer.error));
      break;
    }
    clearTimeout(patience);
    this.#stop.hidden = true;
    this.#busy = false;
    this.#log.removeAttribute("aria-busy");
    this.#sign.textContent = this.#more ? "..." : ">>>";
    if (this.#more) this.#line.value = /^\s*/.exec(lines.at(-1) ?? "")?.[0] + (/:\s*(#.*)?$/.test(lines.at(-1) ?? "") ? "    " : "");
    this.#scroll();
    this.#line.focus();
  }

  /** @param {"in" | "out" | "err" | "value"} kind @param {string} text */
  #write(kind, text) {
    const last = this.#log.lastElementChild;
    if (last?.getAttribute("data-kind") === kind && kind !== "in") last.textContent = (last.textContent + text).slice(-MOST_TEXT);
    else this.#log.append(h("pre", { class: `prompt-${kind}`, "data-kind": kind }, text));
    while (this.#log.childElementCount > MOST) this.#log.firstElementChild?.remove();
    this.#scroll();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (step === undefined || event.isComposing) return;
    event.preventDefault();
    this.#at = Math.max(0, Math.min(this.#history.length, this.#at + step));
    this.#line.value = this.#history[this.#at] ?? "";
  }

  /** Another worker knows nothing of what was said here. */
  #forget() {
    this.#more = false;
    this.#sign.textContent = ">>>";
    if (this.#log.hasChildNodes()) this.#log.append(h("p", { class: "fine" }, t("console_new")));
    this.#scroll();
  }

  #scroll() {
    this.#log.scrollTop = this.#log.scrollHeight;
  }
}
