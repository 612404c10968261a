/**
 * The page's side of the worker: one worker at a time, started, called, stopped and replaced.
 *
 * Ending a worker and starting another is the only way to stop a run, to switch the backend, to free WebAssembly memory
 * and to recover from a failed GPU, so all of these are one mechanism here. Calls queue; failures come as values.
 *
 *     const client = new Client({site, root, app});
 *     client.on("progress", (p) => ...);
 *     const ready = await client.start({backend: "auto"});
 *     const answer = await client.call("classify", [{kind: "text", text: "hello"}], []);
 */

import * as Comlink from "./vendor/comlink.js";
import { kept } from "./keep.js";
import { mark } from "./marks.js";
import { Offline } from "./offline.js";
import { foreign, takeSeat } from "./seats.js";
import { learned } from "./transport.js";

/** @import { Answer, AppError, Backend, BackendChoice, CallResult, ClientEvents, Edited, Failure, InsideAnswers, InsideQuestion, Interim, Progress, Ready, Site, WireValue, WorkerApi } from "./protocol.js" */
/** @import { Ended, Seat } from "./seats.js" */

/** A start in which nothing at all happens for so long has failed: every byte and every stage resets it. */
const STALL_S = 90;

/** So long may a generator take to its next yield, or for what it has to tidy up, once it was told to stop. */
const GRACE_MS = 1500;

const STOPPED = { type: "Stopped", message: "Stopped before it finished." };

const GPU_FAILED = { type: "ProviderError", message: "The GPU failed during a run." };

export class Client {
  #site;
  #root;
  #app;
  /** @type {Offline | null} */
  #offline;
  #sharing;
  #stall_s;
  #demoted;
  /** @type {{[E in keyof ClientEvents]?: Set<(event: any) => void>}} */
  #listeners = {};
  /** @type {Seat | null} */
  #running = null;
  /** Calls that the worker has, of which it may be in the middle. */
  #calls = 0;
  #waiting = 0;
  /** @type {Promise<Ready | Failure> | null} */
  #started = null;
  /** @type {Ready | undefined} */
  #ready;
  /** @type {BackendChoice} */
  #backend = "auto";
  #threads = true;
  /** What the app's files were changed to, by path; null while the site's own run. @type {Record<string, string> | null} */
  #edits = null;
  #stops = 0;
  /** The call that runs, and how often it has yielded. @type {{yields: number} | null} */
  #growing = null;
  /** @type {Promise<unknown>} */
  #queue = Promise.resolve();

  /**
   * @param {{site: Site, root: string | URL, app: string, stall_s?: number, demoted?: () => Backend[], embedded?: boolean}} options root: the
   *   site's, absolute or relative to the page; stall_s: how long a start may show no progress at all; demoted: backends
   *   that "auto" does without; embedded: the page is not one of the site's, so apps share a worker, and nothing is kept for
   *   offline use
   */
  constructor({ site, root, app, stall_s = STALL_S, demoted = () => [], embedded = false }) {
    this.#stall_s = stall_s;
    this.#demoted = demoted;
    this.#site = site;
    this.#root = new URL(root, document.baseURI).href;
    this.#app = app;
    this.#sharing = embedded;
    this.#offline = embedded ? null : new Offline(this.#root, site.build.id, (name, event) => this.#emit(name, event));
  }

  /**
   * Listen to an event.
   * @template {keyof ClientEvents} E
   * @param {E} name
   * @param {(event: ClientEvents[E]) => void} listener
   * @returns {() => void} stops listening
   */
  on(name, listener) {
    const listeners = (this.#listeners[name] ??= new Set());
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** The last worker's state after its start; undefined while there is none. */
  get ready() {
    return this.#ready;
  }

  /** How many calls have no answer yet, whoever made them. */
  get waiting() {
    return this.#waiting;
  }

  /**
   * Start the worker; while one runs, wait for that one.
   * @param {{backend?: BackendChoice}} [options]
   * @returns {Promise<Ready | Failure>}
   */
  start({ backend = this.#backend } = {}) {
    if (!this.#started) {
      this.#backend = backend;
      this.#started = this.#begin();
    }
    return this.#started;
  }

  /**
   * End the worker, whatever it does, and start another.
   * @param {{backend?: BackendChoice}} [options]
   */
  restart({ backend = this.#backend } = {}) {
    this.close();
    return this.start({ backend });
  }

  /**
   * Stop what runs: calls that wait get a Stopped error. A generator that has yielded is asked to end at its next yield,
   * and the worker stays; where that takes too long, and for all else, a fresh worker starts on the same backend.
   */
  async stop() {
    const running = this.#running;
    if (this.#growing?.yields && running) {
      this.#stops += 1; // for the calls that wait
      const over = this.#queue.then(() => true);
      void running.api.stop();
      const ended = await Promise.race([over, running.ended, later(GRACE_MS)]);
      if (ended || this.#running !== running) return this.start();
    }
    return this.restart();
  }

  /** End the worker and start no other; one that is shared goes on, unless it is in the middle of a call of ours. */
  close() {
    this.#stops += 1;
    this.#end(STOPPED, this.#calls === 0);
    this.#emit("status", { state: "stopped" });
  }

  /**
   * Run one app function, after the calls that came before it.
   * @param {string} fn the function's name in site.json
   * @param {(WireValue | null)[]} inputs in the order of the form
   * @param {Uint8Array[]} [buffers] what `buffer` numbers in inputs mean; they are copied
   * @param {(interim: Interim) => void} [onInterim] hears each value that a generator yields; the last is the answer too
   * @returns {Promise<CallResult>} never rejects
   */
  call(fn, inputs, buffers = [], onInterim = () => {}) {
    const stops = this.#stops;
    this.#waiting += 1;
    const answer = this.#queue
      .then(() => (stops === this.#stops ? this.#call(fn, inputs, buffers, onInterim) : { error: STOPPED }))
      .finally(() => (this.#waiting -= 1));
    this.#queue = answer;
    return answer;
  }

  /**
   * Look inside the app's models, after the calls that came before.
   * @template {InsideQuestion} Q
   * @param {Q} what
   * @param {number} [session] its number in the placements
   * @param {string} [name] of a value in the model
   * @returns {Promise<InsideAnswers[Q] | Failure>} never rejects
   */
  inside(what, session = 0, name = "") {
    const stops = this.#stops;
    const answer = this.#queue.then(async () => {
      const running = this.#running;
      if (stops !== this.#stops || !running || !this.#ready) return { error: STOPPED };
      return running.unlessEnded(/** @type {Promise<any>} */ (running.api.inside(what, session, name).catch(lostWords)));
    });
    this.#queue = answer;
    return /** @type {Promise<any>} */ (answer);
  }

  /**
   * Import the app from other sources, after the calls that came before. They stay when the worker is replaced.
   * @param {Record<string, string>} sources text by path; what is missing is as the site has it
   * @returns {Promise<Edited | Failure>} never rejects; after a failure the app that ran before goes on
   */
  async edit(sources) {
    const answer = await this.#ask((api) => api.edit(sources));
    if (!("error" in answer)) this.#edits = Object.keys(sources).length ? sources : null;
    return answer;
  }

  /**
   * Give Python's prompt a line, after the calls that came before.
   * @param {string} line
   * @param {(kind: "out" | "err" | "value", text: string) => void} write takes what comes of it
   * @returns {Promise<{more: boolean} | Failure>} never rejects
   */
  prompt(line, write) {
    return this.#ask((api) => api.prompt(line, Comlink.proxy(write)));
  }

  /**
   * Keep files for use without a network that only some visitors ask for.
   * @param {string[]} files as site.json names them
   */
  keep(files) {
    void this.#keep([...new Set([...(this.#ready?.files ?? []), ...files])]);
  }

  /** @param {string[]} files that were used, as site.json names them */
  async #keep(files) {
    await this.#queue; // writing costs time, and who waits for an answer comes first; both threads have files
    const running = this.#running;
    await Promise.all([kept(), running && Promise.race([running.api.kept(), running.ended])]);
    await this.#offline?.visit(this.#app, files);
  }

  /** Drop everything of this site that is kept on this device. @returns {Promise<boolean>} whether that was possible */
  async forget() {
    return (await this.#offline?.forget()) ?? false;
  }

  /**
   * Ask the worker that runs, or the one that starts, in turn.
   * @template T
   * @param {(api: Comlink.Remote<WorkerApi>) => Promise<T | Failure>} question
   * @returns {Promise<T | Failure>}
   */
  #ask(question) {
    const stops = this.#stops;
    const answer = this.#queue.then(async () => {
      if (stops !== this.#stops) return { error: STOPPED };
      const ready = await this.start();
      if ("error" in ready) return ready;
      const running = /** @type {Seat} */ (this.#running);
      return running.unlessEnded(question(running.api).catch(lostWords));
    });
    this.#queue = answer;
    return answer;
  }

  /** What the worker says of itself now: backend, threads, memory, placement; null while it starts and where there is none. */
  async status() {
    const running = this.#running;
    if (!running || !this.#ready) return null;
    const status = await running.unlessEnded(running.api.status());
    return "error" in status ? null : status;
  }

  /** Show the newest build: it is in place when "update" was emitted. */
  reload() {
    location.reload();
  }

  /**
   * @param {string} fn
   * @param {(WireValue | null)[]} inputs
   * @param {Uint8Array[]} buffers
   * @param {(interim: Interim) => void} onInterim
   * @returns {Promise<CallResult>}
   */
  async #call(fn, inputs, buffers, onInterim) {
    for (;;) {
      const early = await this.#direct(fn, inputs, buffers);
      if (early) return early;
      const ready = await this.start();
      if ("error" in ready) return ready;
      const running = /** @type {Seat} */ (this.#running);
      this.#emit("status", { state: "running", ready });
      this.#calls += 1;
      this.#growing = { yields: 0 };
      running.onInterim = (interim) => {
        if (this.#growing) this.#growing.yields += 1;
        onInterim(interim);
      };
      const asked = running.api.call(fn, inputs, buffers).catch(lostWords);
      const answer = /** @type {CallResult & Ended} */ (await running.unlessEnded(asked));
      running.onInterim = () => {};
      this.#growing = null;
      this.#calls -= 1;
      if (answer.lost) continue;
      if (answer.broken && this.#running === running) {
        const why = "error" in answer ? answer.error : GPU_FAILED;
        const replaced = this.#replace({ error: why, broken: answer.broken });
        if (!("error" in answer)) return answer;
        await replaced;
        continue;
      }
      if (this.#running === running) this.#emit("status", { state: "ready", ready });
      return answer;
    }
  }

  /** Whether a call may be answered before the worker is ready. @param {string} fn */
  answersEarly(fn) {
    if (this.#ready || this.#edits) return false;
    const app = this.#site.apps.find(({ name }) => name === this.#app);
    return app?.functions.find(({ name }) => name === fn)?.direct !== undefined;
  }

  /**
   * An answer before Python is there, where the build has folded the function and its site's own code runs.
   * @param {string} fn
   * @param {(WireValue | null)[]} inputs
   * @param {Uint8Array[]} buffers
   * @returns {Promise<Answer | null>} null: the call waits for Python
   */
  async #direct(fn, inputs, buffers) {
    if (!this.answersEarly(fn)) return null;
    const started = this.start();
    const running = this.#running;
    if (!running) return null;
    const asked = running.api.direct(fn, inputs, buffers).catch(() => null);
    const answer = await Promise.race([asked, running.ended.then(() => null), started.then(() => null)]);
    return this.#running === running ? answer : null;
  }

  /** @param {Failure} failure with `broken`: what the next worker does without */
  async #replace({ error, broken }) {
    if (broken === "threads") this.#threads = false;
    const backend = broken === "webgpu" ? "wasm" : this.#backend;
    const instead = broken === "webgpu" ? "WebAssembly" : "one thread";
    this.#end(error);
    this.#emit("gone", { reason: `${error.message} Starting again on ${instead}.`, restarting: backend });
    return this.start({ backend });
  }

  /** @returns {Promise<Ready | Failure>} */
  async #begin() {
    const running = this.#spawn();
    mark("client");
    this.#emit("status", { state: "starting" });
    let timer = 0;
    let over = false;
    let stage = "loading the worker";
    /** @type {(why: AppError) => void} */
    let stall = () => {};
    /** @type {Promise<Failure>} */
    const late = new Promise((resolve) => (stall = (error) => resolve({ error })));
    const alive = () => {
      clearTimeout(timer);
      if (!over) timer = setTimeout(() => stall(stalled(stage, this.#stall_s)), this.#stall_s * 1000);
    };
    /** @param {Progress} progress */
    const onProgress = (progress) => {
      stage = progress.detail ?? progress.stage;
      alive();
      if (this.#running === running) this.#emit("progress", progress);
    };
    alive();
    const config = {
      root: this.#root,
      site: this.#site,
      app: this.#app,
      backend: this.#backend,
      isolated: globalThis.crossOriginIsolated === true && this.#threads && !foreign,
      keeps: this.#offline?.keeps ?? false,
      demoted: this.#demoted(),
      plain: learned(this.#root),
    };
    const asked = running.api.start(config, Comlink.proxy(onProgress)).catch(lostWords);
    const answer = /** @type {Ready | Failure} */ (await Promise.race([asked, running.ended, late]));
    over = true; // what loads in the background later reports too
    clearTimeout(timer);
    if (this.#running !== running) return this.#started ?? answer; // stopped meanwhile, or replaced
    if ("error" in answer) return this.#startFailed(answer, config.isolated);
    if (this.#edits) {
      const edited = await running.unlessEnded(running.api.edit(this.#edits).catch(lostWords));
      if (this.#running !== running) return this.#started ?? answer;
      if ("error" in edited) this.#edits = null;
      this.#emit("edited", edited);
    }
    return this.#startDone(answer);
  }

  /** @param {Ready} ready */
  #startDone(ready) {
    this.#ready = ready;
    this.#emit("status", { state: "ready", ready });
    void this.#keep(ready.files);
    return ready;
  }

  /**
   * @param {Failure} failure
   * @param {boolean} isolated whether the start that failed could use threads
   * @returns {Promise<Ready | Failure>}
   */
  async #startFailed(failure, isolated) {
    const broken = failure.broken ?? (isolated && failure.error.type === "Stalled" ? "threads" : undefined);
    if (broken) return this.#replace({ ...failure, broken });
    if (isolated && !this.#threads) await this.#offline?.stopIsolating(); // reloads the page where that can help
    if (await this.#offline?.check()) return this.restart(); // a file that was kept was damaged, and will be fetched anew
    this.#end(failure.error, true);
    this.#emit("status", { state: "failed", error: failure.error });
    return failure;
  }

  /** @returns {Seat} */
  #spawn() {
    const running = takeSeat(this.#sharing);
    this.#running = running;
    void running.ended.then(({ lost }) => {
      if (!lost || this.#running !== running) return;
      this.#end(STOPPED);
      void this.start(); // another app ended the worker, to stop a run or to start again without what broke
    });
    return running;
  }

  /**
   * @param {AppError} why what calls that still wait are told
   * @param {boolean} [leaving] whether others may keep the worker
   */
  #end(why, leaving = false) {
    const running = this.#running;
    this.#running = null;
    this.#started = null;
    this.#ready = undefined;
    if (leaving) running?.leave(why);
    else running?.end(why);
  }

  /**
   * @template {keyof ClientEvents} E
   * @param {E} name
   * @param {ClientEvents[E]} event
   */
  #emit(name, event) {
    for (const listener of this.#listeners[name] ?? []) listener(event);
  }
}

/** @param {number} ms @returns {Promise<false>} */
function later(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms, false));
}

/**
 * A rejected promise from the worker is a fault of ours; it still becomes a value with words.
 * @param {any} error
 * @returns {Failure}
 */
function lostWords(error) {
  return { error: { type: error?.name ?? "Error", message: String(error?.message ?? error), traceback: error?.stack } };
}

/**
 * @param {string} stage
 * @param {number} seconds
 * @returns {AppError}
 */
function stalled(stage, seconds) {
  const message = `Starting made no progress for ${seconds} s (last: ${stage}).`;
  return { type: "Stalled", message, hint: "Check the network connection and reload the page." };
}
