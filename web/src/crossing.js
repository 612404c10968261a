/**
 * What Python sees of ONNX Runtime Web: numbers, strings and buffers, nothing else.
 *
 * A call crosses as one JSON string and its arrays; an answer as one JSON string and a function that fills arrays. So no
 * proxy outlives a call: Pyodide destroys the ones made for arguments when the returned promise settles. Array data is
 * copied once each way, between Python's heap and ONNX Runtime's own buffers.
 */

import { OrtError } from "./runtime.js";
import { packed } from "./tensors.js";

/** @import { PyProxy } from "pyodide/ffi" */
/** @import { AtomicsClient } from "./atomics.js" */
/** @import { Engine } from "./engine.js" */
/** @import { Plan } from "./choose.js" */
/** @import { RawTensor } from "./tensors.js" */

/** An answer, as Python reads it: `head` is JSON, {error} or {outputs: [[type, dims, strings?]], ms}. */
export class Answer {
  head;
  #data;

  /**
   * @param {object} head
   * @param {Uint8Array[]} data of the outputs that are no strings, in order
   */
  constructor(head, data = []) {
    this.head = JSON.stringify(head);
    this.#data = data;
  }

  /** Copy every output into an array of its size. @param {...PyProxy} targets */
  fill(...targets) {
    targets.forEach((target, i) => {
      if (!this.#data[i].length) return; // an empty array has no buffer worth asking for
      const buffer = bufferOf(target);
      buffer.data.set(this.#data[i]);
      buffer.release();
    });
    this.#data = [];
  }

  /** @param {unknown} error */
  static failure(error) {
    const type = error instanceof OrtError ? error.type : "ProviderError";
    return new Answer({ error: { type, message: error instanceof Error ? error.message : String(error) } });
  }
}

/** The bridge where ONNX Runtime runs in Python's own worker. */
export class Bridge {
  #engine;
  waits;
  backend;
  /** JSON: the app's models by path, each with its id, inputs, outputs, metadata and the provider that runs it best. */
  models;
  #plan;

  /**
   * @param {Plan} plan
   * @param {Engine} engine
   */
  constructor(plan, engine) {
    this.#plan = plan;
    this.#engine = engine;
    this.waits = plan.waits;
    this.backend = plan.backend;
    this.models = JSON.stringify(plan.models);
  }

  /** Why WebGPU cannot be used at all; "" where it can. */
  get gpuFault() {
    return this.#plan.gpu.fault;
  }

  /** Whether WebGPU computes in float16 here. */
  get gpuHalf() {
    return this.#plan.gpu.f16;
  }

  /** Why this backend. */
  get reason() {
    return this.#plan.reason;
  }

  /**
   * Threads of a provider, why not more, and why it is broken ("" while it is not).
   * @param {"wasm" | "webgpu"} [provider]
   * @returns {{threads: number, reason: string, broken: string}}
   */
  describe(provider = this.backend === "webgpu" ? "webgpu" : "wasm") {
    return this.#engine.describe(provider);
  }

  /**
   * Start making a session.
   * @param {string} spec JSON of engine.js's Spec
   * @param {PyProxy} [model] bytes, where it is not one of the site's models
   */
  create(spec, model) {
    return this.#engine.create(JSON.parse(spec), model ? copyOf(model) : null);
  }

  /**
   * @param {number} session
   * @param {string} call JSON: {feeds: [[name, type, dims, strings?]], fetches: [name]}
   * @param {...PyProxy} arrays of the feeds that are no strings, C-contiguous
   * @returns {Promise<Answer>} never rejects
   */
  async run(session, call, ...arrays) {
    const { feeds, fetches } = JSON.parse(call);
    try {
      const { head, buffers } = packed(await this.#engine.run(session, () => views(feeds, arrays), fetches));
      return new Answer(head, buffers);
    } catch (error) {
      return Answer.failure(error);
    }
  }

  /**
   * @param {number} session made with enableProfiling
   * @returns {Promise<string>} JSON: {events} or {error}; never rejects
   */
  async profile(session) {
    try {
      return JSON.stringify({ events: await this.#engine.profile(session) });
    } catch (error) {
      return Answer.failure(error).head;
    }
  }

  /** @param {number} session */
  release(session) {
    this.#engine.release(session);
  }

  /**
   * A model's file.
   * @param {string} id
   * @returns {Promise<{error: string, data?: Uint8Array}>} never rejects
   */
  async bytes(id) {
    try {
      return { error: "", data: await this.#engine.bytes(id, "python") };
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    }
  }
}

/** The bridge where ONNX Runtime runs in a second worker, and this one blocks until it answers. */
export class AtomicsBridge {
  #client;
  #plan;
  waits;
  backend;
  models;

  /**
   * @param {Plan} plan
   * @param {AtomicsClient} client
   */
  constructor(plan, client) {
    this.#plan = plan;
    this.#client = client;
    this.waits = plan.waits;
    this.backend = plan.backend;
    this.models = JSON.stringify(plan.models);
  }

  get gpuFault() {
    return this.#plan.gpu.fault;
  }

  get gpuHalf() {
    return this.#plan.gpu.f16;
  }

  get reason() {
    return this.#plan.reason;
  }

  /** @param {"wasm" | "webgpu"} [provider] */
  describe(provider = this.backend === "webgpu" ? "webgpu" : "wasm") {
    return this.#client.call({ op: "describe", provider }).head;
  }

  /**
   * @param {string} spec
   * @param {PyProxy} [model]
   */
  create(spec, model) {
    const bytes = model ? [copyOf(model)] : [];
    return this.#client.call({ op: "create", spec: JSON.parse(spec) }, bytes).head.session;
  }

  /**
   * @param {number} session
   * @param {string} call
   * @param {...PyProxy} arrays
   */
  runSync(session, call, ...arrays) {
    const buffers = arrays.map(bufferOf);
    try {
      const { head, data } = this.#client.call(
        { op: "run", session, ...JSON.parse(call) },
        buffers.map((buffer) => buffer.data),
      );
      return new Answer(head, data);
    } catch (error) {
      return Answer.failure(error);
    } finally {
      buffers.forEach((buffer) => buffer.release());
    }
  }

  /** @param {number} session */
  profileSync(session) {
    return JSON.stringify(this.#client.call({ op: "profile", session }).head);
  }

  /** @param {number} session */
  release(session) {
    this.#client.call({ op: "release", session });
  }

  /** @param {string} id */
  bytesSync(id) {
    const { head, data } = this.#client.call({ op: "bytes", id });
    return head.error ? { error: head.error.message } : { error: "", data: data[0].slice() };
  }
}

/**
 * The feeds as views of Python's heap. Asking for a buffer may grow that heap and detach the views before it: whoever
 * uses them looks, and asks once more.
 * @param {[name: string, type: string, dims: number[], strings?: string[]][]} heads
 * @param {PyProxy[]} arrays
 */
function views(heads, arrays) {
  const buffers = arrays.map(bufferOf);
  /** @type {Record<string, RawTensor>} */
  const feeds = {};
  let i = 0;
  for (const [name, type, dims, strings] of heads) feeds[name] = [type, dims, strings ?? buffers[i++].data];
  return { feeds, done: () => buffers.forEach((buffer) => buffer.release()) };
}

/**
 * @param {PyProxy} array
 * @returns {{data: Uint8Array, release: () => void}}
 */
function bufferOf(array) {
  return /** @type {any} */ (array).getBuffer("u8");
}

/** @param {PyProxy} array */
function copyOf(array) {
  const buffer = bufferOf(array);
  const copy = buffer.data.slice();
  buffer.release();
  return copy;
}
