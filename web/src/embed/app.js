/**
 * An app for JavaScript callers: a method for each of its functions, which takes and gives plain values.
 */

import { whyUnsupported } from "../support.js";
import { clientOf } from "./clients.js";
import { given } from "./given.js";
import { returned } from "./returned.js";

/** @import { Client } from "../client.js" */
/** @import { AppError as Told, BackendChoice, ClientEvents, FunctionSchema, Interim, Site, SiteApp, WireValue } from "../protocol.js" */
/** @import { CallOptions, LoadOptions } from "../../types/onnxlet.js" */

/** What went wrong: Python's class, or one of the page's (AssetError, Stopped ...), is the name; the traceback is the cause. */
export class AppError extends Error {
  /** @param {Told} told */
  constructor({ type, message, traceback, hint }) {
    super(hint ? `${message} (${hint})` : message, traceback ? { cause: traceback } : undefined);
    this.name = type;
  }
}

/** @param {string} message of a caller's mistake */
function misuse(message) {
  return new AppError({ type: "InvalidInput", message });
}

/** Names that a function's own method may not have: an object with `then` is a promise to `await`. */
const TAKEN = new Set(["then", "constructor"]);

export class EmbeddedApp {
  #client;
  #release;
  #schema;

  /**
   * @param {SiteApp} app
   * @param {Client} client
   * @param {() => void} [release]
   */
  constructor(app, client, release = () => {}) {
    this.#client = client;
    this.#release = release;
    this.#schema = app;
    const { title, description, functions } = app;
    /** The form schema, as App.schema() gives it in Python. */
    this.schema = { title, description, live: app.live ?? false, functions };
    /** Names of the functions. */
    this.functions = functions.map(({ name }) => name);
    for (const name of this.functions) {
      if (name in this || TAKEN.has(name)) continue; // `call` reaches it
      Object.defineProperty(this, name, { value: (/** @type {unknown[]} */ ...values) => this.call(name, sorted(this.#function(name), values)) });
    }
  }

  /**
   * Run a function.
   * @param {string} name
   * @param {unknown[] | Record<string, unknown>} [values] in the order of its parameters, or by their names
   * @param {CallOptions} [options]
   * @returns {Promise<any>} what it returned; an array where it returned several values
   */
  call(name, values = [], options = {}) {
    return this.#run(name, values, options, () => {});
  }

  /**
   * Run a function that is a generator in Python, and take each value as it is yielded; of any other function, its result.
   * Who stops taking stops the run.
   * @param {string} name
   * @param {unknown[] | Record<string, unknown>} [values]
   * @param {CallOptions} [options]
   * @returns {AsyncGenerator<any>}
   */
  async *stream(name, values = [], options = {}) {
    /** @type {unknown[]} */
    const grown = [];
    let wake = () => {};
    let yields = 0;
    /** @type {{error?: unknown, result?: unknown} | null} */
    let end = null;
    this.#run(name, values, options, (interim) => {
      yields += 1;
      grown.push(plain(interim));
      wake();
    }).then((result) => (end = { result }), (error) => (end = { error })).finally(() => wake());
    try {
      for (;;) {
        while (grown.length) yield grown.shift();
        const over = /** @type {{error?: unknown, result?: unknown} | null} */ (end);
        if (over && "error" in over) throw over.error;
        if (over) break;
        await new Promise((resolve) => (wake = () => resolve(undefined)));
      }
      if (!yields) yield /** @type {any} */ (end).result; // else it was the last value
    } finally {
      if (!end) this.#stop();
    }
  }

  /** What runs, where, and why; null while nothing does. */
  status() {
    return this.#client.status();
  }

  /**
   * Listen: "progress" while it starts, "status" at each change, "gone" when a worker was replaced.
   * @template {"progress" | "status" | "gone"} E
   * @param {E} event
   * @param {(event: ClientEvents[E]) => void} listener
   * @returns {() => void} stops listening
   */
  on(event, listener) {
    return this.#client.on(event, listener);
  }

  /** Nothing is called through this object any more. The last one that uses the app ends it. */
  close() {
    this.#release();
  }

  /**
   * @param {string} name
   * @param {unknown[] | Record<string, unknown>} values
   * @param {CallOptions} options
   * @param {(interim: Interim) => void} onInterim
   * @returns {Promise<any>}
   */
  async #run(name, values, { signal }, onInterim) {
    signal?.throwIfAborted();
    const schema = this.#function(name);
    const { inputs, buffers } = await wires(schema, values);
    signal?.throwIfAborted();
    const calling = this.#client.call(name, inputs, buffers, onInterim);
    const answer = await (signal ? Promise.race([calling, this.#aborted(signal, calling)]) : calling);
    if ("error" in answer) throw new AppError(answer.error);
    return plain(answer);
  }

  /** Stop the run that nobody waits for any more; where others wait for this app, also through another object, it goes on. */
  #stop() {
    if (this.#client.waiting === 1) void this.#client.stop();
  }

  /** @param {string} name @returns {FunctionSchema} */
  #function(name) {
    const schema = this.#schema.functions.find((one) => one.name === name);
    if (!schema) throw misuse(`${this.#schema.name} has no function "${name}"; it has ${this.functions.join(", ")}`);
    return schema;
  }

  /**
   * Rejects when the caller gives up; a run that nobody else waits for is stopped then.
   * @param {AbortSignal} signal
   * @param {Promise<unknown>} calling
   * @returns {Promise<never>}
   */
  #aborted(signal, calling) {
    return new Promise((_, reject) => {
      const stop = () => {
        this.#stop();
        reject(signal.reason);
      };
      signal.addEventListener("abort", stop, { once: true });
      void calling.finally(() => signal.removeEventListener("abort", stop));
    });
  }
}

/**
 * One value, or an array of several.
 * @param {{outputs: WireValue[], buffers: Uint8Array[]}} answer
 */
function plain({ outputs, buffers }) {
  const results = outputs.map((display) => returned(display, buffers));
  return results.length === 1 ? results[0] : results;
}

/**
 * Positional values, or one object whose every key is a parameter's name.
 * @param {FunctionSchema} schema
 * @param {unknown[]} values
 * @returns {unknown[] | Record<string, unknown>}
 */
function sorted({ inputs }, values) {
  const [first] = values;
  if (values.length !== 1 || Object.prototype.toString.call(first) !== "[object Object]") return values;
  const keys = Object.keys(/** @type {object} */ (first));
  const named = keys.length > 0 && keys.every((key) => inputs.some(({ name }) => name === key));
  return named ? /** @type {Record<string, unknown>} */ (first) : values;
}

/**
 * Values in wire form.
 * @param {FunctionSchema} schema
 * @param {unknown[] | Record<string, unknown>} values
 */
async function wires({ name, inputs: fields }, values) {
  const names = fields.map((field) => field.name);
  if (Array.isArray(values) && values.length > fields.length) {
    throw misuse(`${name}: expected at most ${fields.length} values (${names.join(", ") || "none"}), got ${values.length}`);
  }
  const unknown = Array.isArray(values) ? undefined : Object.keys(values).find((key) => !names.includes(key));
  if (unknown !== undefined) throw misuse(`${name}: no parameter "${unknown}"; it has ${names.join(", ") || "none"}`);
  const inputs = [];
  const buffers = [];
  for (const [i, field] of fields.entries()) {
    const value = Array.isArray(values) ? values[i] : values[field.name];
    if (value === undefined || value === null) {
      inputs.push(null); // Python says so where one was needed
      continue;
    }
    const { wire, buffers: more } = await given(field, value).catch((error) => {
      throw misuse(`${name}: "${field.name}": ${error.message}`);
    });
    inputs.push(wire.buffer === undefined ? wire : { ...wire, buffer: wire.buffer + buffers.length });
    buffers.push(...more);
  }
  return { inputs, buffers };
}

/**
 * Start an app, or take the one that runs.
 * @param {Site} site
 * @param {string} root
 * @param {SiteApp} app
 * @param {LoadOptions} options
 * @returns {Promise<EmbeddedApp>}
 * @throws {AppError}
 */
export async function loadApp(site, root, app, { backend = "auto", onProgress }) {
  const problem = whyUnsupported();
  if (problem) throw new AppError({ type: "StartError", message: problem });
  const { client, release } = clientOf(site, root, app, /** @type {BackendChoice} */ (backend));
  const deaf = onProgress && client.on("progress", onProgress);
  const ready = await client.start({ backend: /** @type {BackendChoice} */ (backend) });
  deaf?.();
  if ("error" in ready) {
    release();
    throw new AppError(ready.error);
  }
  return new EmbeddedApp(app, client, release);
}
