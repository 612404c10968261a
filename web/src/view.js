/**
 * One function of an app on the page: its form, its examples, its result, and when it runs.
 *
 * A run uses what the form holds when it starts. While the model loads, a click waits; while a run goes on, a change waits
 * and only the latest counts. The old result stays, dimmed, until the new one is there.
 */

import { showError, showResult } from "./display.js";
import { append, button, fresh, h, icon } from "./dom.js";
import { exampleBuffers, exampleButtons } from "./examples.js";
import { Form } from "./form.js";
import { t } from "./words.js";

/** @import { Client } from "./client.js" */
/** @import { AppError, CallResult, ClientEvents, Example, FunctionSchema, Timing } from "./protocol.js" */

const DEBOUNCE_MS = 350; // between the strokes of one drawing
const PATIENCE_MS = 300; // shorter runs come and go without a Stop button

export class View {
  #schema;
  #client;
  #root;
  #hooks;
  #form;
  /** @type {ClientEvents["status"]["state"]} */
  #state = "starting";
  #running = false;
  #waiting = false;
  #timer = 0;
  #runLabel = h("span", {}, t("run"));
  #run = h("button", { type: "submit", class: "button primary run" }, icon("play"), this.#runLabel);
  #stop = button({ class: "button stop", hidden: true, onclick: () => this.#halt() }, icon("stop"), t("stop"));
  #body = h("div", { class: "result-body" });
  #result;

  /**
   * @param {{schema: FunctionSchema, examples: Example[], client: Client, root: URL, intro: boolean, live: boolean,
   *   hooks: {say: (text: string) => void, ran: (timing: Timing) => void, restart: (backend?: "wasm") => void}}} options
   *   `intro`: whether the function's docstring is not already the page's description
   */
  constructor({ schema, examples, client, root, intro, live, hooks }) {
    this.#schema = schema;
    this.#client = client;
    this.#root = root;
    this.#hooks = hooks;
    this.#form = new Form(schema, () => this.#changed(), live);
    const title = fresh("result");
    const form = h("form", { class: "card form", novalidate: true, "aria-label": schema.title || schema.name },
      h("h2", { class: "eyebrow" }, t("input")),
      intro && schema.doc && h("p", { class: "doc", dir: "auto" }, schema.doc),
      this.#form.element,
      h("div", { class: "row actions" }, this.#run, this.#stop));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.run();
    });
    this.#result = h("section", { class: "card result", "aria-labelledby": title, "aria-busy": "false" },
      h("h2", { id: title, class: "eyebrow" }, t("result")), this.#body);
    this.element = h("div", { class: "view" });
    const tries = examples.length ? exampleButtons(examples, schema, root, (one) => void this.#try(one)) : null;
    append(this.element, form, tries, this.#result);
    this.#empty();
  }

  /** Runs with what the form holds, now or as soon as the model is ready. */
  async run() {
    clearTimeout(this.#timer);
    this.#waiting = false;
    const given = await this.#form.collect();
    if (!given) return this.#mark();
    if (this.#running || this.#state !== "ready") {
      this.#waiting = true;
      if (this.#state === "failed") this.#hooks.restart();
      return this.#mark();
    }
    this.#running = true;
    this.#mark();
    const patience = setTimeout(() => (this.#stop.hidden = false), PATIENCE_MS);
    const answer = await this.#client.call(this.#schema.name, given.inputs, given.buffers);
    clearTimeout(patience);
    this.#running = false;
    this.#show(answer);
    if (this.#waiting && this.#state === "ready") await this.run();
  }

  /** @param {ClientEvents["status"]} event */
  state({ state, error }) {
    const was = this.#state;
    this.#state = state === "running" ? "ready" : state;
    if (error && !this.#running) this.fail(error);
    else if (was === "failed" || !this.#body.hasChildNodes()) this.#empty();
    if (this.#isEmpty) this.#empty();
    this.#mark();
    if (state === "ready" && this.#waiting && !this.#running) void this.run();
  }

  /** @param {AppError} error - of the start or of a run */
  fail(error) {
    this.#waiting = false;
    const actions = this.#state === "failed"
      ? [
          { label: /** @type {const} */ ("retry"), onclick: () => this.#hooks.restart() },
          { label: /** @type {const} */ ("try_wasm"), onclick: () => this.#hooks.restart("wasm") },
        ]
      : [];
    this.#body.replaceChildren(showError(error, actions));
    this.#mark();
  }

  /** @param {File} file - dropped or pasted somewhere on the page */
  take(file) {
    return this.#form.take(file);
  }

  /** @param {boolean} visible */
  show(visible) {
    this.element.hidden = !visible;
    if (!visible) this.#form.rest();
  }

  /** @param {CallResult} answer */
  #show(answer) {
    if ("error" in answer) {
      if (answer.error.type === "Stopped") this.#hooks.say(t("stopped"));
      else this.fail(answer.error);
      if (answer.error.type === "Stopped" && this.#isEmpty) this.#empty();
      return this.#mark();
    }
    const { element, summary } = showResult(this.#schema.outputs, answer.outputs, answer.buffers, answer.timing);
    this.#body.replaceChildren(element);
    this.#mark();
    this.#hooks.ran(answer.timing);
    this.#hooks.say(t("done", { summary }));
    this.#reveal();
  }

  /** On a phone the result may lie below the fold. */
  #reveal() {
    const { top } = this.#result.getBoundingClientRect();
    if (top < innerHeight - 120 && top > -40) return;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.#result.scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" });
  }

  #changed() {
    if (!this.#form.runsItself) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      if (await this.#form.complete()) await this.run();
      else {
        this.#waiting = false;
        this.#empty();
        this.#mark();
      }
    }, DEBOUNCE_MS);
  }

  /** @param {Example} example */
  async #try(example) {
    try {
      this.#form.fill(example.inputs, await exampleBuffers(example, this.#root));
    } catch (error) {
      return this.fail({ type: "AssetError", message: /** @type {Error} */ (error).message });
    }
    await this.run();
  }

  #halt() {
    this.#waiting = false;
    void this.#client.stop();
  }

  get #isEmpty() {
    return this.#body.firstElementChild?.classList.contains("empty") ?? true;
  }

  #empty() {
    const words = this.#state === "ready" ? "result_empty" : "result_loading";
    this.#body.replaceChildren(h("p", { class: "empty" }, t(words)));
  }

  /** Shows what is going on. */
  #mark() {
    const loading = this.#waiting && !this.#running;
    this.#runLabel.textContent = this.#running ? t("working") : loading ? t("run_queued") : t("run");
    this.#run.classList.toggle("busy", this.#running || loading);
    if (!this.#running) this.#stop.hidden = true;
    this.#result.setAttribute("aria-busy", String(this.#running));
  }
}
