/**
 * The card with a function's result: nothing yet, an answer, what a generator has yielded so far, or an error.
 *
 * The old result stays, dimmed, until the new one is there. What moves (grows, or answers live input) is drawn as often
 * as the screen shows it, without dimming and without animations.
 */

import { carry } from "./carry.js";
import { showError, showResult } from "./display.js";
import { fresh, h } from "./dom.js";
import { count, duration, t } from "./words.js";

/** @import { Answer, AppError, FormField, Interim, Timing } from "./protocol.js" */
/** @import { Word } from "./words.js" */

const RELEASES = ["pointerup", "pointercancel"];

export class Result {
  #fields;
  #body = h("div", { class: "result-body" });
  #meter = h("span", { class: "live-meter" });
  /** Newest of what has grown, and how often that was in this run. @type {Interim | null} */
  #interim = null;
  #yields = 0;
  #frame = 0;
  /** What waits for the visitor to let go of something in the result. @type {HTMLElement | null} */
  #next = null;
  #held = false;
  #began = 0;

  /** @param {FormField[]} fields - what the function declares */
  constructor(fields) {
    this.#fields = fields;
    const title = fresh("result");
    this.element = h("section", { class: "card result", "aria-labelledby": title, "aria-busy": "false" },
      h("div", { class: "result-head" }, h("h2", { id: title, class: "eyebrow" }, t("result")), this.#meter), this.#body);
    this.#holdStill();
  }

  get isEmpty() {
    return this.#body.firstElementChild?.classList.contains("empty") ?? true;
  }

  /** @param {boolean} ready - whether the model is loaded */
  empty(ready) {
    this.#next = null;
    this.#body.replaceChildren(h("p", { class: "empty" }, t(ready ? "result_empty" : "result_loading")));
  }

  /** A run begins. @param {boolean} live - one of many */
  begin(live) {
    this.#yields = 0;
    this.#began = performance.now();
    this.#moves(live);
  }

  /** How fast live input is answered. @param {string} text */
  meter(text) {
    this.#meter.textContent = text;
  }

  /** @param {boolean} busy */
  busy(busy) {
    this.element.setAttribute("aria-busy", String(busy));
  }

  /** Shows a value that a generator yielded, when the screen is next drawn. @param {Interim} interim */
  grow(interim) {
    this.#interim = interim;
    this.#yields += 1;
    this.#frame ||= requestAnimationFrame(() => this.#drawInterim());
  }

  /** @param {Answer} answer @returns {string} what a screen reader hears */
  show({ outputs, buffers, timing, direct = false }) {
    this.#forget();
    this.#yields = 0;
    return this.#draw(outputs, buffers, took(timing, direct));
  }

  /** The run ended early: what it had so far stays. @returns {boolean} whether it had anything */
  cut() {
    this.#drawInterim();
    if (this.#next) this.#place(this.#next);
    const note = this.#yields > 0 && this.#body.querySelector(".took");
    if (note) note.textContent = this.#sofar("grown_cut");
    this.#yields = 0;
    return Boolean(note);
  }

  /** @param {AppError} error @param {{label: Word, onclick: () => void}[]} actions */
  fail(error, actions) {
    const kept = this.cut() ? this.#body.querySelector(".outputs") : null;
    this.#body.replaceChildren(showError(error, actions), ...(kept ? [kept] : []));
  }

  /** On a phone the result may lie below the fold. */
  reveal() {
    const { top } = this.element.getBoundingClientRect();
    if (top < innerHeight - 120 && top > -40) return;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.element.scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" });
  }

  #drawInterim() {
    const { outputs, buffers } = this.#interim ?? {};
    const first = !this.#moving;
    this.#forget();
    if (!outputs || !buffers) return;
    this.#moves(true);
    this.#draw(outputs, buffers, this.#sofar("growing"));
    if (first) this.reveal();
  }

  #forget() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#interim = null;
  }

  /** @param {Answer["outputs"]} outputs @param {Uint8Array[]} buffers @param {string} note */
  #draw(outputs, buffers, note) {
    const { element, summary } = showResult(this.#fields, outputs, buffers, note);
    if (this.#held && this.#moving) this.#next = element;
    else this.#place(element);
    return summary;
  }

  /** @param {HTMLElement} element */
  #place(element) {
    this.#next = null;
    const old = this.#body.querySelector(".outputs");
    if (old && this.#moving) carry(old, element);
    for (const player of this.#body.querySelectorAll("audio")) URL.revokeObjectURL(player.src);
    this.#body.replaceChildren(element);
  }

  /** A button that is replaced between press and release is never clicked, and a slider never dragged: that waits. */
  #holdStill() {
    const release = () => {
      this.#held = false;
      if (this.#next) this.#place(this.#next);
    };
    const later = () => {
      for (const name of RELEASES) removeEventListener(name, later);
      setTimeout(release); // after the click
    };
    this.#body.addEventListener("pointerdown", () => {
      this.#held = true;
      for (const name of RELEASES) addEventListener(name, later);
    });
  }

  /** @param {"growing" | "grown_cut"} word */
  #sofar(word) {
    return t(word, { updates: count("updates", this.#yields), time: duration(performance.now() - this.#began) });
  }

  get #moving() {
    return this.element.dataset.moving !== undefined;
  }

  /** @param {boolean} moving */
  #moves(moving) {
    if (moving) this.element.dataset.moving = "";
    else delete this.element.dataset.moving;
  }
}

/** @param {Timing} timing @param {boolean} direct - whether Python was not there yet */
function took({ runs, total_ms, run_ms }, direct) {
  const time = duration(total_ms);
  if (direct) return t("took_direct", { time, run: duration(run_ms) });
  return runs > 0 ? t("took", { time, run: duration(run_ms) }) : t("took_simple", { time });
}
