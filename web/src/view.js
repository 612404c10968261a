/**
 * One function of an app on the page: its form, its examples, its result, and when it runs.
 *
 * A run uses what the form holds when it starts. While the model loads, a click waits, unless the build has folded the
 * function into graphs that answer before Python is there; while a run goes on, a change waits
 * and only the latest counts. In a live app every change is a run, and cameras and microphones are asked about all the time.
 */

import { append, button, h, icon } from "./dom.js";
import { exampleBuffers, exampleButtons } from "./examples.js";
import { Form } from "./form.js";
import { Live } from "./live.js";
import { Result } from "./result.js";
import { t } from "./words.js";

/** @import { Client } from "./client.js" */
/** @import { AppError, CallResult, ClientEvents, Example, FunctionSchema, Timing, WireValue } from "./protocol.js" */

const DEBOUNCE_MS = 350; // between the strokes of one drawing
const LIVE_MS = 60; // between two runs of a live app that changes without end
const NEWS_MS = 700; // a screen reader hears of what moves when it rests, and the panel draws it no more often
const PATIENCE_MS = 300; // shorter runs come and go without a Stop button

export class View {
  #schema;
  #client;
  #root;
  #hooks;
  #form;
  /** @type {ClientEvents["status"]["state"]} */
  #state = "starting";
  #running = 0; // calls that have not answered
  #waiting = false;
  #timer = 0;
  #news = 0;
  #told = 0;
  #isLive;
  #live;
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
    this.#result = new Result(schema.outputs);
    this.#isLive = live;
    this.#live = new Live({
      ready: async () => !("error" in (await client.start())),
      ask: () => this.#askLive(),
      meter: (text) => this.#result.meter(text),
      changed: () => this.#liveChanged(),
    });
    this.#form = new Form(schema, { changed: () => this.#changed(), flows: (flow) => this.#live.begin(flow), live });
    const form = h("form", { class: "card form", novalidate: true, "aria-label": schema.title || schema.name },
      h("h2", { class: "eyebrow" }, t("input")),
      intro && schema.doc && h("p", { class: "doc", dir: "auto" }, schema.doc),
      this.#form.element,
      h("div", { class: "row actions" }, this.#run, this.#stop));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.run();
    });
    this.element = h("div", { class: live ? "view live" : "view" });
    const tries = examples.length ? exampleButtons(examples, schema, root, (one) => void this.#try(one)) : null;
    append(this.element, form, tries, this.#result.element);
    this.#result.empty(false);
    if (live) new IntersectionObserver(([entry]) => this.#live.pause("away", !entry?.isIntersecting)).observe(this.element);
  }

  /** Runs with what the form holds, now or as soon as the model is ready. */
  async run() {
    if (this.#live.on) return; // the next call comes by itself
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#waiting = false;
    const given = await this.#form.collect();
    if (!given) return this.#mark();
    if (this.#running || !this.#answers) {
      this.#waiting = true;
      if (this.#state === "failed") this.#hooks.restart();
      return this.#mark();
    }
    await this.#ask(given);
    if (this.#waiting && this.#answers) await this.run();
  }

  /** Whether a call is answered: by Python, or before it is there. */
  get #answers() {
    return this.#state === "ready" || (this.#state === "starting" && this.#client.answersEarly(this.#schema.name));
  }

  /** @param {{inputs: (WireValue | null)[], buffers: Uint8Array[]}} given */
  async #ask({ inputs, buffers }) {
    this.#running += 1;
    this.#result.begin(this.#isLive);
    this.#mark();
    const patience = setTimeout(() => (this.#stop.hidden = this.#state === "starting"), PATIENCE_MS);
    const answer = await this.#client.call(this.#schema.name, inputs, buffers, (interim) => this.#result.grow(interim));
    clearTimeout(patience);
    this.#running -= 1;
    this.#show(answer);
    return answer;
  }

  /** One of many runs on live input. @returns {Promise<boolean>} whether there is sense in the next one */
  async #askLive() {
    const given = await this.#form.collect();
    if (!given) return false;
    const answer = await this.#ask(given);
    if (!this.#live.on && this.#waiting) void this.run(); // somebody chose an example meanwhile
    return !("error" in answer) || answer.error.type === "Stopped"; // another backend goes on
  }

  #liveChanged() {
    this.#run.hidden = this.#live.on;
    this.#hooks.say(t(this.#live.on ? "live_on" : "live_off"));
    const focused = this.element.contains(document.activeElement);
    this.#mark();
    if (this.#live.on) this.#stop.focus({ preventScroll: true }); // the button that began it has gone
    else if (focused) this.#run.focus({ preventScroll: true });
  }

  /** @param {ClientEvents["status"]} event */
  state({ state, error }) {
    const was = this.#state;
    if (state === "starting") this.#live.renew();
    this.#state = state === "running" ? "ready" : state;
    if (error && !this.#running) this.fail(error);
    else if (was === "failed" || this.#result.isEmpty) this.#result.empty(this.#state === "ready");
    this.#mark();
    if (state === "ready" && this.#waiting && !this.#running) void this.run();
    if (was === "starting" && this.#running) setTimeout(() => (this.#stop.hidden &&= !this.#running), PATIENCE_MS);
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
    if (this.element.hidden === !visible) return;
    this.element.hidden = !visible;
    if (visible) this.#form.wake();
    else this.#form.rest();
  }

  /** @param {CallResult} answer */
  #show(answer) {
    this.#hooks.answered?.(answer);
    if ("error" in answer) {
      if (answer.error.type !== "Stopped") this.fail(answer.error);
      else if (!this.#live.on) this.#stopped();
      return this.#mark();
    }
    const summary = this.#result.show(answer);
    this.#mark();
    if (!this.#isLive) this.#result.reveal(); // it would pull the pad from under the pen
    if (!this.#live.on) this.#tell(summary);
    if (this.#isLive && performance.now() - this.#told < NEWS_MS) return;
    this.#told = performance.now();
    this.#hooks.ran(answer.timing);
  }

  /** To screen readers. @param {string} summary */
  #tell(summary) {
    clearTimeout(this.#news);
    const say = () => this.#hooks.say(t("done", { summary }));
    if (this.#isLive) this.#news = setTimeout(say, NEWS_MS);
    else say();
  }

  #stopped() {
    this.#result.cut();
    this.#hooks.say(t(this.#state === "ready" ? "stopped_only" : "stopped"));
    if (this.#result.isEmpty) this.#result.empty(this.#state === "ready");
  }

  #changed() {
    if (!this.#form.runsItself || this.#live.on) return;
    if (this.#isLive && this.#timer) return; // it will take the latest
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      this.#timer = 0;
      if (await this.#form.complete()) await this.run();
      else {
        this.#waiting = false;
        this.#result.empty(this.#state === "ready");
        this.#mark();
      }
    }, this.#isLive ? LIVE_MS : DEBOUNCE_MS);
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
    if (this.#live.on) return this.#live.end();
    void this.#client.stop();
  }

  /** Shows what is going on. */
  #mark() {
    const running = this.#running > 0 && this.#state !== "starting";
    const loading = !running && (this.#waiting || this.#running > 0);
    this.#runLabel.textContent = running ? t("working") : loading ? t("run_queued") : t("run");
    this.#run.classList.toggle("busy", running || loading);
    if (!running || this.#live.on) this.#stop.hidden = !this.#live.on;
    this.#result.busy(running);
  }
}
