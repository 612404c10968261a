/**
 * One function of an app on the page: its form, its examples, its result, and when it runs.
 *
 * A run uses what the form holds when it starts. While the model loads, a click waits; while a run goes on, a change waits
 * and only the latest counts.
 */

import { append, button, h, icon } from "./dom.js";
import { exampleBuffers, exampleButtons } from "./examples.js";
import { Form } from "./form.js";
import { Result } from "./result.js";
import { t } from "./words.js";

/** @import { Client } from "./client.js" */
/** @import { AppError, CallResult, ClientEvents, Example, FunctionSchema, Interim, Timing } from "./protocol.js" */

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
  #result;

  /**
   * @param {{schema: FunctionSchema, examples: Example[], client: Client, root: URL, intro: boolean, live: boolean,
   *   hooks: {say: (text: string) => void, ran: (timing: Timing) => void, restart: (backend?: "wasm") => void,
   *   answered?: (answer: CallResult) => void}}} options
   *   `intro`: whether the function's docstring is not already the page's description
   */
  constructor({ schema, examples, client, root, intro, live, hooks }) {
    this.#schema = schema;
    this.#client = client;
    this.#root = root;
    this.#hooks = hooks;
    this.#form = new Form(schema, () => this.#changed(), live);
    const form = h("form", { class: "card form", novalidate: true, "aria-label": schema.title || schema.name },
      h("h2", { class: "eyebrow" }, t("input")),
      intro && schema.doc && h("p", { class: "doc", dir: "auto" }, schema.doc),
      this.#form.element,
      h("div", { class: "row actions" }, this.#run, this.#stop));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.run();
    });
    this.#result = new Result(schema.outputs);
    this.element = h("div", { class: "view" });
    const tries = examples.length ? exampleButtons(examples, schema, root, (one) => void this.#try(one)) : null;
    append(this.element, form, tries, this.#result.element);
    this.#result.empty(false);
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
    this.#result.begin(false);
    this.#mark();
    const patience = setTimeout(() => (this.#stop.hidden = false), PATIENCE_MS);
    const grown = (/** @type {Interim} */ interim) => this.#result.grow(interim);
    const answer = await this.#client.call(this.#schema.name, given.inputs, given.buffers, grown);
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
    else if (was === "failed" || this.#result.isEmpty) this.#result.empty(this.#state === "ready");
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
    this.#result.fail(error, actions);
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
    this.#hooks.answered?.(answer);
    if ("error" in answer) {
      if (answer.error.type === "Stopped") this.#stopped();
      else this.fail(answer.error);
      return this.#mark();
    }
    const summary = this.#result.show(answer);
    this.#mark();
    this.#hooks.ran(answer.timing);
    this.#hooks.say(t("done", { summary }));
    this.#result.reveal();
  }

  #stopped() {
    this.#result.cut();
    this.#hooks.say(t(this.#state === "ready" ? "stopped_only" : "stopped"));
    if (this.#result.isEmpty) this.#result.empty(this.#state === "ready");
  }

  #changed() {
    if (!this.#form.runsItself) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      if (await this.#form.complete()) await this.run();
      else {
        this.#waiting = false;
        this.#result.empty(this.#state === "ready");
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

  /** Shows what is going on. */
  #mark() {
    const loading = this.#waiting && !this.#running;
    this.#runLabel.textContent = this.#running ? t("working") : loading ? t("run_queued") : t("run");
    this.#run.classList.toggle("busy", this.#running || loading);
    if (!this.#running) this.#stop.hidden = true;
    this.#result.busy(this.#running);
  }
}
