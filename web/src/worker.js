/**
 * The worker that computes: Pyodide and ONNX Runtime Web side by side, so that tensors never cross threads.
 *
 * Each app has a seat: most pages have one, and a page that embeds several seats them in one worker, where they share Python
 * and take turns in it. A start does everything at once. Files download, WebAssembly compiles, ONNX Runtime loads and opens the model while
 * Python boots; the app's own `InferenceSession(...)` then finds its session made. Failures are values, never rejected
 * promises: an Error loses its class on the way between threads.
 */

import * as Comlink from "./vendor/comlink.js";
import { AppFiles } from "./app-files.js";
import { Assets } from "./assets.js";
import { createBridge } from "./bridge.js";
import { gather } from "./gather.js";
import { kept } from "./keep.js";
import { mark, marks } from "./marks.js";
import { readPng } from "./pictures.js";
import { APP, Python } from "./pyodide-boot.js";
import { handed } from "./handed.js";
import { fetchThrough } from "./seam.js";
import { learn } from "./transport.js";

/** @import { PyProxy } from "pyodide/ffi" */
/** @import { Direct } from "./direct.js" */
/** @import { Runtimes } from "./engine.js" */
/** @import { Answer, CallResult, Failure, InsideQuestion, Interim, Progress, Ready, SiteApp, StartConfig, Status, WireValue } from "./protocol.js" */

/** Progress that a person can see; more of it would only cost the thread time. */
const PROGRESS_EVERY_MS = 50;
/** What the first call may not need waits so long for it: it would hold the thread. */
const UNHURRIED_MS = 400;
/** Inputs that may hold an encoded picture, for which Python needs a decoder. */
const PICTURES = new Set(["image", "drawing", "file"]);

/** @typedef {PyProxy & Record<string, any>} Host */
/** @typedef {{files: AppFiles, bridge: Awaited<ReturnType<typeof createBridge>>, host: Host}} Session */

/** What the apps of this worker share: files, Python, and each build of ONNX Runtime Web. */
class Common {
  /** Where a start tells how far it is. @type {Set<(change: Partial<Progress>) => void>} */
  reports = new Set();
  /** @type {Runtimes} */
  runtimes = {};
  /** The app whose turn it is in Python. @type {Seat | null} */
  current = null;
  /** @type {Promise<unknown>} */
  #turns = Promise.resolve();
  #seats = 0;

  /** @param {StartConfig} config of the app that came first */
  constructor({ site, root, keeps, plain }) {
    learn(root, plain);
    const tell = (/** @type {number} */ loaded, /** @type {number} */ total) => {
      for (const report of this.reports) report({ loaded, total });
    };
    this.assets = new Assets(site, root, tell, keeps, handed);
    this.python = new Python(site, this.assets, fetchThrough(this.assets));
  }

  /** A folder for one more app. @param {string} name */
  folder(name) {
    this.#seats += 1;
    return this.#seats === 1 ? APP : `/apps/${this.#seats}-${name}`;
  }

  /**
   * Do something in Python when nobody else does: apps take turns, because a call may wait for ONNX Runtime in its middle.
   * @template T
   * @param {() => Promise<T> | T} work
   * @returns {Promise<T>}
   */
  turn(work) {
    const mine = this.#turns.then(work);
    this.#turns = mine.catch(() => {});
    return mine;
  }
}

/** @type {Common | undefined} */
let common;

/** One app, as whoever started it sees it: the worker's API (protocol.d.ts). */
class Seat {
  /** @type {Session | null} */
  #session = null;
  #folder = "";
  #report = reporter(() => {});
  #port;
  /** @type {Promise<Ready | Failure> | undefined} */
  #starting;
  /** What answers before Python is there; null where nothing does. @type {Promise<Direct | null>} */
  #direct = Promise.resolve(null);

  /** @param {Comlink.Endpoint} port where it is asked */
  constructor(port) {
    this.#port = port;
  }

  /**
   * @param {StartConfig} config
   * @param {(p: Progress) => void} onProgress
   * @returns {Promise<Ready | Failure>}
   */
  start(config, onProgress) {
    this.#report = reporter(onProgress);
    return (this.#starting = this.#start(config, this.#report));
  }

  /**
   * @param {StartConfig} config
   * @param {(change: Partial<Progress>, now?: boolean) => void} report
   * @returns {Promise<Ready | Failure>}
   */
  async #start(config, report) {
    const began = performance.now();
    try {
      const { site } = config;
      const app = site.apps.find(({ name }) => name === config.app);
      if (!app) throw new Error(`site.json has no app ${config.app}; it has ${site.apps.map(({ name }) => name).join(", ")}`);
      common ??= new Common(config);
      const { assets, python, runtimes, reports } = common;
      reports.add(report);
      this.#folder = common.folder(app.name);
      const files = new AppFiles(app, assets, python, this.#folder);
      /** @type {(direct: Direct | null) => void} */
      let onDirect = () => {};
      this.#direct = new Promise((resolve) => (onDirect = resolve));
      const booting = python.boot(this.#direct.then((direct) => direct?.opened()));
      const bridging = createBridge({ ...config, assets, runtimes, onProgress: report, onDirect, heap: () => python.heap });
      void bridging.catch(() => {}).then(() => onDirect(null)); // awaited below, after Python
      if (app.whole_library) python.late.prefetch();
      const pyodide = await booting;
      mark("python");
      await files.lay();
      const bridge = await bridging;
      mark("bridge");
      if (app.whole_library || bridge.backend === "python") await python.late.load(); // the core's operators come late
      report({ stage: "app", detail: "" }, true);
      const host = /** @type {Host} */ (pyodide.pyimport("onnxlet.host"));
      mark("import");
      this.#session = { files, bridge, host };
      const fault = await this.#begin(app);
      if (fault) return failure(JSON.parse(fault).error);
      mark("app");
      await assets.settled((group) => files.needs(group)); // a model that cannot be had is told now, not by the first call
      files.fetchPictures();
      setTimeout(() => files.pictures().catch(() => {}), UNHURRIED_MS); // a call that needs it tries again, and tells
      python.late.loadInBackground();
      (await this.#direct)?.close();
      report({ stage: "ready" }, true);
      const status = await this.status();
      const used = [...new Set([...assets.used, ...python.late.paths])];
      mark("ready");
      return { ...status, load_ms: Math.round(performance.now() - began), steps: marks(), files: used, python_start: python.began };
    } catch (error) {
      return failure(error);
    } // `report` stays until the app leaves: files that are loaded later report to it too
  }

  /** @param {SiteApp} app @returns {Promise<string | undefined>} what went wrong, as JSON */
  #begin(app) {
    const { common, host, bridge } = this.#shared();
    return common.turn(() => {
      common.current = this;
      return host.start(bridge, JSON.stringify({ ...app, root: this.#folder }));
    });
  }

  /**
   * @param {string} fn
   * @param {(WireValue | null)[]} inputs
   * @param {Uint8Array[]} buffers
   * @returns {Promise<CallResult>}
   */
  async call(fn, inputs, buffers) {
    if (!this.#session) return failure(new Error("call() came before start()"));
    const { files, bridge, host } = this.#session;
    try {
      let given = { inputs, buffers };
      if (inputs.some(mayBePicture) && !files.decodes) given = await readPng(inputs, buffers);
      if (given.inputs.some(mayBePicture)) await files.pictures();
      const [json, views] = await this.#turn(() => host.call(fn, JSON.stringify(given.inputs), given.buffers, this.#grown));
      const { error, ...answer } = JSON.parse(json);
      const broken = bridge.backend === "webgpu" && bridge.describe("webgpu").broken ? { broken: /** @type {const} */ ("webgpu") } : {};
      if (error) return { error, ...broken };
      return Comlink.transfer({ ...answer, buffers: views, ...broken }, buffersOf(views));
    } catch (error) {
      return failure(error);
    }
  }

  /**
   * An answer before Python is there, from graphs that the build has folded the function into.
   * @param {string} fn
   * @param {(WireValue | null)[]} inputs
   * @param {Uint8Array[]} buffers
   * @returns {Promise<Answer | null>} null: this call is Python's; never rejects
   */
  async direct(fn, inputs, buffers) {
    return (await this.#direct)?.answer(fn, inputs, buffers) ?? null;
  }

  /**
   * A value that a generator yielded goes the way of the answer, so that it comes before it: not by a proxy of Comlink's.
   * @param {string} json - {outputs}
   * @param {Uint8Array<ArrayBuffer>[]} views
   */
  #grown = (json, views) => {
    /** @type {Interim} */
    const interim = { ...JSON.parse(json), buffers: views };
    this.#port.postMessage({ interim }, buffersOf(views));
  };

  /** Ends a generator of this app's at its next yield. */
  stop() {
    const { common, host } = this.#shared();
    if (common.current === this) host.stop();
  }

  /**
   * @param {InsideQuestion} what
   * @param {number} [of] a session's number
   * @param {string} [name] of a value
   * @returns {Promise<any>} what inside.py says, or a Failure
   */
  async inside(what, of = 0, name = "") {
    if (!this.#session) return failure(new Error("inside() came before start()"));
    const { common, host } = this.#shared();
    try {
      return JSON.parse(await this.#turn(() => host.inside(what, of, (/** @type {string} */ path) => common.assets.bytes(path), name)));
    } catch (error) {
      return failure(error);
    }
  }

  /**
   * @param {Record<string, string>} sources
   * @returns {Promise<any>} Edited, or a Failure
   */
  async edit(sources) {
    try {
      return JSON.parse(await this.#turn(() => this.#shared().host.edit(JSON.stringify(sources))));
    } catch (error) {
      return failure(error);
    }
  }

  /**
   * @param {string} line
   * @param {(kind: "out" | "err" | "value", text: string) => void} write
   * @returns {Promise<any>} whether there has to be more, or a Failure
   */
  async prompt(line, write) {
    const printed = gather((/** @type {"out" | "err" | "value"} */ kind, /** @type {string} */ text) => void write(kind, text));
    try {
      return JSON.parse(await this.#turn(() => this.#shared().host.prompt(line, printed.say)));
    } catch (error) {
      return failure(error);
    } finally {
      printed.flush();
    }
  }

  /** @returns {Promise<void>} when what was downloaded is written to where the service worker looks */
  kept() {
    return kept();
  }

  /** @returns {Promise<Status>} */
  async status() {
    const { common, bridge, host } = this.#shared();
    const said = () => host.status();
    const status = await (common.current === this ? said() : this.#turn(said)); // another one may be in the middle of a call
    return { ...JSON.parse(status), waits: bridge.waits, memory_bytes: bridge.memoryBytes() };
  }

  /** Forget the app, once it has started; the others stay. */
  async leave() {
    await this.#starting;
    common?.reports.delete(this.#report);
    if (!this.#session) return;
    const { common: shared, bridge, host } = this.#shared();
    this.#session = null;
    await shared.turn(() => {
      if (shared.current === this) shared.current = null;
      host.leave(this.#folder);
      bridge.close();
    });
  }

  /** Give another app of the site a seat of its own in this worker. @param {MessagePort} port on which it will be asked */
  join(port) {
    Comlink.expose(new Seat(port), port);
  }

  /**
   * @template T
   * @param {() => Promise<T> | T} work in Python
   * @returns {Promise<T>}
   */
  #turn(work) {
    const { common, host } = this.#shared();
    return common.turn(() => {
      if (common.current !== this) host.enter(this.#folder);
      common.current = this;
      return work();
    });
  }

  #shared() {
    if (!common || !this.#session) throw new Error("the app has not started, or it has left");
    return { common, ...this.#session };
  }
}

/** @param {Uint8Array<ArrayBuffer>[]} views */
function buffersOf(views) {
  return views.map(({ buffer }) => buffer);
}

/** @param {WireValue | null} input */
function mayBePicture(input) {
  return input !== null && PICTURES.has(input.kind) && input.buffer !== undefined && input.encoding !== "rgba";
}

/**
 * Sends what changes, not more often than a person can see.
 * @param {(p: Progress) => void} send
 */
function reporter(send) {
  /** @type {Progress} */
  let state = { stage: "download", loaded: 0, total: 0 };
  let sent = -Infinity;
  return (/** @type {Partial<Progress>} */ change, now = false) => {
    state = { ...state, ...change };
    if (!now && performance.now() - sent < PROGRESS_EVERY_MS) return;
    sent = performance.now();
    send(state);
  };
}

/**
 * @param {any} error
 * @returns {Failure}
 */
function failure(error) {
  const { type, name, message, traceback, hint } = error ?? {};
  return { error: { type: type ?? name ?? "Error", message: String(message ?? error), traceback, hint } };
}

Comlink.expose(new Seat(/** @type {any} */ (self)));
mark("worker");
