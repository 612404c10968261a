/**
 * Sessions over the builds of ONNX Runtime Web: which build, which file of the model, which number of threads.
 *
 * The same class serves Pyodide's own worker (JSPI, async) and a second worker (ort-worker.js, for Atomics). It knows
 * tensors as bytes and nothing of Python.
 */

import { Budget, need } from "./budget.js";
import { OrtError } from "./failures.js";
import { Runtime } from "./runtime.js";
import { joined } from "./weights.js";

/** @import * as Ort from "onnxruntime-common" */
/** @import { Assets } from "./assets.js" */
/** @import { Files } from "./choose.js" */
/** @import { Backend, Site, Variant } from "./protocol.js" */
/** @import { Provider } from "./runtime.js" */
/** @import { RawTensor } from "./tensors.js" */

/** More threads than this gain nothing on the models that fit a page. */
const MAX_THREADS = 4;

/**
 * The options of a session that Python opens without any, as providers/ort_web.py writes them: by these a session that was
 * made ahead is known.
 */
const DEFAULTS = {
  graphOptimizationLevel: /** @type {const} */ ("all"),
  enableCpuMemArena: true,
  enableMemPattern: true,
  executionMode: /** @type {const} */ ("sequential"),
  logSeverityLevel: /** @type {const} */ (3),
  logVerbosityLevel: 0,
  freeDimensionOverrides: {},
  enableProfiling: false,
  extra: {},
};

/** @typedef {{id?: string, provider: Provider, options: Ort.InferenceSession.SessionOptions}} Spec */
/** @typedef {Partial<Record<Provider, Runtime>> & {budget?: Budget}} Runtimes one of each in a worker, and what they may take */
/** @typedef {{runtime: Runtime, made: Promise<Ort.InferenceSession>, again: (() => void) | null}} Made again: where there was no room */

export class Engine {
  #site;
  #assets;
  #threads;
  #runtimes;
  #budget;
  /** @type {Map<number, Made>} */
  #sessions = new Map();
  #count = 0;
  /** Sessions that nobody has asked for yet, by what Python will ask. @type {Map<string, number>} */
  #ahead = new Map();
  /** What each model loads, by id. @type {Record<string, Files>} */
  #files = {};
  /** Models on their way or at hand, in pieces, until somebody takes them. @type {Map<Variant, Promise<Uint8Array[]>>} */
  #models = new Map();

  /**
   * @param {Site} site
   * @param {Assets} assets
   * @param {boolean} isolated false asks for one thread
   * @param {Runtimes} [runtimes] those that the engines of other apps have made, and will
   */
  constructor(site, assets, isolated, runtimes = {}) {
    this.#site = site;
    this.#runtimes = runtimes;
    this.#budget = runtimes.budget ??= new Budget(site.memory_budget);
    this.#assets = assets;
    this.#threads = threadsHere(isolated, site.cores ?? navigator.hardwareConcurrency ?? 1);
  }

  /**
   * Start downloading the runtime and the models of an app, as many as there is memory for.
   * @param {Record<string, Files>} files by model id
   */
  prefetch(files) {
    this.#files = files;
    let left = this.#budget.left;
    for (const [id, { backend }] of Object.entries(files)) {
      const variant = this.#variant(id, backend);
      left -= this.#needs(id, variant).bytes;
      if (left < 0) continue; // for create() to say
      const whole = backend === "python";
      const model = whole ? this.#assets.model(variant).then((one) => [one]) : this.#assets.pieces(variant);
      model.catch(() => {}); // create() meets the failure
      this.#models.set(variant, model);
      if (backend !== "python") this.#runtime(backend).prefetch();
    }
  }

  /** What each model loads after all: the graphics adapter has answered. @param {Record<string, Files>} files by model id */
  settle(files) {
    this.#files = files;
  }

  /** Wait for what prefetch() started; failures wait for create(). */
  async prefetched() {
    await Promise.allSettled(this.#models.values());
  }

  /**
   * Start making a session; what goes wrong is told by its first run. A file of the site's that is refused stays here, for
   * Python, which asks for it next.
   * @param {Spec} spec
   * @param {Uint8Array[] | null} pieces the model, where it is not one of the site's
   * @returns {number} the session
   */
  create(spec, pieces) {
    const key = keyOf(spec.id ?? "", spec.provider, spec.options);
    const ahead = pieces ? undefined : this.#ahead.get(key);
    if (ahead !== undefined) {
      this.#ahead.delete(key);
      return ahead;
    }
    const session = /** @type {Made} */ ({ runtime: this.#runtime(spec.provider) });
    this.#make(session, spec, pieces);
    this.#sessions.set(++this.#count, session);
    return this.#count;
  }

  /** @param {Made} session @param {Spec} spec @param {Uint8Array[] | null} pieces */
  #make(session, { id = "", provider, options }, pieces) {
    session.again = null;
    try {
      const variant = pieces ? null : this.#variant(id, provider);
      this.#budget.hold(session, variant ? this.#needs(id, variant) : { name: "a model of the app's own", bytes: need(sizeOf(pieces)) });
      const model = variant ? this.#take(variant) : pieces;
      session.made = session.runtime.create(/** @type {NonNullable<typeof model>} */ (model), options);
      session.made.catch(({ type }) => {
        this.#budget.release(session);
        if (variant && type === "Refused") this.#models.set(variant, /** @type {Promise<Uint8Array[]>} */ (model));
      });
    } catch (error) {
      session.made = Promise.reject(error);
    }
    session.made.catch(({ type }) => {
      if (!pieces && type === "OutOfMemory") session.again = () => this.#make(session, { id, provider, options }, null);
    });
  }

  /**
   * Start making a session before Python is there to ask for it; the first one that asks with the options that Python has
   * by default gets it.
   * @param {string} id a model of the site's
   * @param {Provider} provider
   * @returns {number} the session
   */
  ahead(id, provider) {
    const key = keyOf(id, provider, DEFAULTS);
    const session = this.#ahead.get(key) ?? this.create({ id, provider, options: DEFAULTS }, null);
    this.#ahead.set(key, session);
    return session;
  }

  /** Release the sessions made ahead that nobody asked for. */
  disown() {
    for (const session of this.#ahead.values()) this.release(session);
    this.#ahead.clear();
  }

  /**
   * @param {number} session
   * @param {() => Record<string, RawTensor>} take gives the feeds when it is their turn
   * @param {string[]} fetches
   * @throws {OrtError}
   */
  async run(session, take, fetches) {
    const entry = this.#session(session);
    entry.again?.(); // others may have closed their sessions since
    return entry.runtime.run(await entry.made, take, fetches);
  }

  /** Wait for a session. @param {number} session @throws {OrtError} */
  async made(session) {
    await this.#session(session).made;
  }

  /** @param {number} session */
  async profile(session) {
    const { runtime, made } = this.#session(session);
    return runtime.profile(await made);
  }

  /** @param {number} session */
  release(session) {
    const entry = this.#sessions.get(session);
    this.#sessions.delete(session);
    if (!entry) return;
    entry.runtime.release(entry.made);
    this.#budget.release(entry);
  }

  /**
   * The file of one of the site's models that was chosen for a backend. What prefetch() asked for is handed over once; later
   * it is fetched again, from the browser's cache.
   * @param {string} id
   * @param {Backend} backend
   * @returns {Promise<Uint8Array>}
   * @throws {OrtError}
   */
  async bytes(id, backend) {
    const variant = this.#variant(id, backend);
    this.#budget.check(this.#needs(id, variant));
    return this.#models.has(variant) ? joined(await this.#take(variant)) : this.#assets.model(variant);
  }

  /** @param {Variant} variant */
  async #take(variant) {
    const ready = this.#models.get(variant);
    this.#models.delete(variant);
    return ready ?? this.#assets.pieces(variant);
  }

  /** @param {string} id @param {Backend} backend @returns {Variant} */
  #variant(id, backend) {
    const model = this.#site.models[id];
    if (!model) throw new OrtError("InvalidModel", `the site has no model ${id}`);
    return this.#files[id]?.variants[backend] ?? model.variants[0];
  }

  /** @param {string} id @param {Variant} variant */
  #needs(id, { bytes }) {
    const { name, activations } = this.#site.models[id];
    return { name, bytes: need(bytes, activations) };
  }

  /** What runs, for the page. @param {Provider} provider */
  describe(provider) {
    const runtime = this.#runtimes[provider];
    const { threads, reason } = this.#threads;
    return { threads: runtime?.threads ?? threads, reason: runtime?.threadsReason ?? reason, broken: runtime?.broken ?? "" };
  }

  /** @param {number} session */
  #session(session) {
    const entry = this.#sessions.get(session);
    if (!entry) throw new OrtError("ProviderError", `session ${session} is closed`);
    return entry;
  }

  /** @param {Provider} provider */
  #runtime(provider) {
    return (this.#runtimes[provider] ??= this.#build(provider));
  }

  /** @param {Provider} provider */
  #build(provider) {
    const jspi = "Suspending" in WebAssembly;
    // The jspi build is 10 MB smaller than the one that rewinds its stack.
    const order = provider === "wasm" ? ["wasm"] : jspi ? ["jspi", "webgpu"] : ["webgpu"];
    const name = /** @type {("wasm" | "jspi" | "webgpu")[]} */ (order).find((build) => this.#site.ort[build]);
    const files = name && this.#site.ort[name];
    if (!files) throw new OrtError("Refused", `the site was built without ONNX Runtime Web for ${order.join(" or ")}`);
    return new Runtime(files, this.#assets, provider, this.#threads);
  }
}

/**
 * @param {string} id
 * @param {Provider} provider
 * @param {object} options
 */
function keyOf(id, provider, options) {
  return JSON.stringify([id, provider, Object.entries(options).sort()]);
}

/**
 * @param {boolean} isolated
 * @param {number} cores
 */
function threadsHere(isolated, cores) {
  if (!isolated) return { threads: 1, reason: "one thread was asked for" };
  if (!globalThis.crossOriginIsolated) return { threads: 1, reason: "the page is not cross-origin isolated" };
  if (typeof SharedArrayBuffer !== "function") return { threads: 1, reason: "this browser has no shared memory" };
  const threads = Math.max(1, Math.min(MAX_THREADS, Math.floor(cores / 2)));
  return { threads, reason: `half of ${cores} cores, at most ${MAX_THREADS}` };
}

/** @param {Uint8Array[] | null} pieces */
function sizeOf(pieces) {
  return (pieces ?? []).reduce((sum, { length }) => sum + length, 0);
}
