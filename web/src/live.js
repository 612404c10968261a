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
    document.addEventListener("visibilitychange", () => this.pause("hidden", document.hidden));
    this.pause("hidden", document.hidden);
  }

  get on() {
    return this.#flow?.open ?? false;
  }

  /** @param {Flow} flow which is open */
  begin(flow) {
    this.end();
    this.#flow = flow;
    this.#changed();
    void flow.closed.then(() => this.#flow === flow && this.end());
    void this.#go(flow);
  }

  /** Lets go of the device; a call that is under way still answers. */
  end() {
    const flow = this.#flow;
    this.#flow = null;
    if (!flow) return;
    flow.close();
    this.#resumed();
    this.#say("");
    this.#changed();
  }

  /** Python starts anew, and knows nothing of what it heard. */
  renew() {
    this.#flow?.renew();
  }

  /** @param {string} why @param {boolean} on */
  pause(why, on) {
    if (on) this.#pauses.add(why);
    else this.#pauses.delete(why);
    if (!this.#pauses.size) this.#resumed();
  }

  /** @param {Flow} flow */
  async #go(flow) {
    const going = () => this.#flow === flow;
    if (await this.#ready()) {
      flow.renew(); // what came while the model was loading is old
      let [answers, spent_ms, since] = [0, 0, performance.now()];
      while (going() && (await flow.fresh()) && going()) {
        if (this.#pauses.size) {
          await new Promise((resolve) => (this.#resumed = () => resolve(undefined)));
          flow.renew();
          [answers, spent_ms, since] = [0, 0, performance.now()];
          continue;
        }
        const began = performance.now();
        if (!(await this.#ask())) break;
        await new Promise(requestAnimationFrame); // until it is seen
        answers += 1;
        spent_ms += performance.now() - began;
        const time_s = (performance.now() - since) / 1000;
        if (time_s * 1000 < METER_MS || !going()) continue;
        const rate = number(answers / time_s, { maximumSignificantDigits: 2 });
        const texts = [t("live_rate", { rate }), t("live_latency", { time: duration(spent_ms / answers) }), flow.lost(time_s)];
        this.#say(texts.filter(Boolean).join(" · "));
        [answers, spent_ms, since] = [0, 0, performance.now()];
      }
    }
    if (going()) this.end();
  }
}
