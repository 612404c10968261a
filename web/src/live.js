/**
 * Live input: a function asked again and again about what comes by itself, a camera's pictures or a microphone's sound.
 *
 * There is one call at a time, and the next one is about the newest input: what comes meanwhile is dropped or, where every
 * bit counts, joined. Nothing is asked while nobody can see it, and the device is let go at the end, whatever ended it.
 */

import { duration, number, t } from "./words.js";

/** @import { Flow } from "./widgets/widget.js" */

/** The figures change no faster than they can be read. */
const METER_MS = 500;

export class Live {
  /** @type {Flow | null} */
  #flow = null;
  /** Why nothing is asked at the moment. @type {Set<string>} */
  #pauses = new Set();
  #resumed = () => {};
  // since the figures were last told
  #answers = 0;
  #spent_ms = 0;
  #since = 0;
  #ready;
  #ask;
  #say;
  #changed;

  /**
   * @param {{ready: () => Promise<boolean>, ask: () => Promise<boolean>, meter: (text: string) => void, changed: () => void}} options
   *   ready: whether the function can be asked at all; ask: about what the form holds now, false when that is the end;
   *   meter: shows how fast it goes; changed: it began or ended
   */
  constructor({ ready, ask, meter, changed }) {
    this.#ready = ready;
    this.#ask = ask;
    this.#say = meter;
    this.#changed = changed;
  }

  get on() {
    return this.#flow?.open ?? false;
  }

  /** @param {Flow} flow which is open */
  begin(flow) {
    this.end();
    this.#flow = flow;
    document.addEventListener("visibilitychange", this.#seen);
    this.#seen();
    this.#changed();
    void flow.closed.then(() => this.#flow === flow && this.end());
    void this.#go(flow);
  }

  /** Lets go of the device; a call that is under way still answers. */
  end() {
    const flow = this.#flow;
    this.#flow = null;
    if (!flow) return;
    document.removeEventListener("visibilitychange", this.#seen);
    flow.close();
    this.#resumed();
    this.#say("");
    this.#changed();
  }

  /** Python starts anew, and knows nothing of what it heard; or what came meanwhile is of no interest. */
  renew() {
    this.#flow?.renew();
    [this.#answers, this.#spent_ms, this.#since] = [0, 0, performance.now()];
  }

  #seen = () => this.pause("hidden", document.hidden);

  /** @param {string} why @param {boolean} on */
  pause(why, on) {
    const paused = this.#pauses.size > 0;
    if (on) this.#pauses.add(why);
    else this.#pauses.delete(why);
    if (!paused || this.#pauses.size) return;
    this.renew();
    this.#resumed();
  }

  /** @param {Flow} flow */
  async #go(flow) {
    const going = () => this.#flow === flow;
    if (await this.#ready()) {
      this.renew(); // what came while the model was loading is old
      while (going() && (await flow.fresh()) && going()) {
        if (this.#pauses.size) {
          await new Promise((resolve) => (this.#resumed = () => resolve(undefined)));
          continue;
        }
        const began = performance.now();
        if (!(await this.#ask())) break;
        await new Promise(requestAnimationFrame); // until it is seen
        if (going()) this.#count(flow, performance.now() - began);
      }
    }
    if (going()) this.end();
  }

  /** @param {Flow} flow @param {number} ms - that the last answer took */
  #count(flow, ms) {
    this.#answers += 1;
    this.#spent_ms += ms;
    const time_s = (performance.now() - this.#since) / 1000;
    if (time_s * 1000 < METER_MS) return;
    const rate = number(this.#answers / time_s, { maximumSignificantDigits: 2 });
    const time = duration(this.#spent_ms / this.#answers);
    this.#say([t("live_rate", { rate }), t("live_latency", { time }), flow.lost(time_s)].filter(Boolean).join(" · "));
    [this.#answers, this.#spent_ms, this.#since] = [0, 0, performance.now()];
  }
}
