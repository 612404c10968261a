/**
 * What Python sees of ONNX Runtime Web: numbers and strings, nothing else.
 *
 * What a call always says (names, types, sizes, outputs) crosses once, as JSON; a run of it crosses as the addresses of its
 * arrays in Python's heap. Array data is copied once each way, between that heap and ONNX Runtime's own buffers. Nothing of
 * Python's is ever held here, so no proxy outlives a call.
 */

import { OrtError } from "./failures.js";
import { memoryBytes } from "./seam.js";
import { itemBytes, packed, unpacked } from "./tensors.js";

/** @import { PyProxy } from "pyodide/ffi" */
/** @import { AtomicsClient } from "./atomics.js" */
/** @import { Engine } from "./engine.js" */
/** @import { Plan } from "./choose.js" */
/** @import { RawTensor } from "./tensors.js" */
/** @import { Tokenizers } from "./tokenizers.js" */

/** @typedef {() => Uint8Array} Heap Python's memory as it is now: it moves when it grows */
/** @typedef {[name: string, type: string, dims: number[]]} Head what a run always says of a feed */

/** @typedef {{given: (number | string)[] | null}} Run its feeds: the address of each one's elements, or JSON of its strings */

/** One way to call a session, prepared, for runs that do not overlap. */
class Call {
  #heap;
  #heads;
  #fetches;
  /** @type {Run} the one that started last */
  #run = { given: null };
  /** @type {Uint8Array[]} */
  #data = [];

  /**
   * @param {Heap} heap
   * @param {string} json {feeds: Head[], fetches: string[]}
   */
  constructor(heap, json) {
    const { feeds, fetches } = JSON.parse(json);
    this.#heap = heap;
    this.#heads = /** @type {Head[]} */ (feeds);
    this.#fetches = /** @type {string[]} */ (fetches);
  }

  /**
   * A run, for whoever computes: `take` gives the feeds as views of Python's heap, which may grow and leave them behind.
   * @param {(number | string)[]} given see Run; arrays are C-contiguous and aligned
   */
  begin(given) {
    const run = (this.#run = { given: /** @type {Run["given"]} */ (given) });
    return { take: () => this.#feeds(run), fetches: this.#fetches };
  }

  /** Keep the outputs until Python has made room for them. @param {RawTensor[]} outputs */
  keep(outputs) {
    const { heads, buffers } = packed(outputs);
    this.#data = buffers;
    return JSON.stringify({ outputs: heads });
  }

  /** Copy every output that is no strings into an array of its size. @param {...number} addresses */
  fill(...addresses) {
    const heap = this.#heap();
    this.#data.forEach((data, i) => heap.set(data, addresses[i]));
    this.#data = [];
  }

  /** Nobody waits any more, and the feeds are about to go. */
  cancel() {
    this.#run.given = null;
  }

  /** @param {Run} run @returns {Record<string, RawTensor>} */
  #feeds({ given }) {
    if (!given) throw new OrtError("ProviderError", "nobody waits for this run any more");
    const heap = this.#heap();
    return Object.fromEntries(this.#heads.map(([name, type, dims], i) => [name, [type, dims, dataOf(heap, type, dims, given[i])]]));
  }
}

/** A call whose runs are waited for. */
class AwaitedCall extends Call {
  #engine;
  #session;
  /** @type {Promise<string>} */
  #answer = Promise.resolve("");
  /** The answer to the run that started last, a promise of JSON {outputs: [[type, dims, strings?]]} or {error}. */
  answer = { then: (/** @type {(answer: string) => void} */ resolve) => this.#answer.then(resolve) };

  /**
   * @param {Heap} heap
   * @param {string} json
   * @param {Engine} engine
   * @param {number} session
   */
  constructor(heap, json, engine, session) {
    super(heap, json);
    this.#engine = engine;
    this.#session = session;
  }

  /** @param {...(number | string)} given */
  start(...given) {
    const { take, fetches } = this.begin(given);
    this.#answer = this.#engine.run(this.#session, take, fetches).then((outputs) => this.keep(outputs), failure);
  }
}

/** A call whose runs block. */
class BlockingCall extends Call {
  #client;
  #session;
  answer = null;

  /**
   * @param {Heap} heap
   * @param {string} json
   * @param {AtomicsClient} client
   * @param {number} session
   */
  constructor(heap, json, client, session) {
    super(heap, json);
    this.#client = client;
    this.#session = session;
  }

  /** @param {...(number | string)} given @returns {string} the answer */
  start(...given) {
    const { take, fetches } = this.begin(given);
    try {
      const feeds = take();
      const { heads, buffers } = packed(Object.values(feeds));
      const request = { op: "run", session: this.#session, names: Object.keys(feeds), feeds: heads, fetches };
      const { head, data } = this.#client.call(request, buffers);
      return head.error ? JSON.stringify({ error: head.error }) : this.keep(unpacked(head.outputs, data));
    } catch (error) {
      return failure(error);
    }
  }
}

/** The bridge where ONNX Runtime runs in Python's own worker. */
export class Bridge {
  #engine;
  #heap;
  waits;
  backend;
  /** JSON: the app's models by path, each with its id, inputs, outputs, metadata and the provider that runs it best. */
  models;
  /** @type {Tokenizers | null} where the app uses some */
  tokenizers = null;
  #plan;

  /**
   * @param {Plan} plan
   * @param {Heap} heap
   * @param {Engine} engine
   */
  constructor(plan, heap, engine) {
    this.#plan = plan;
    this.#heap = heap;
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
   * @param {...PyProxy} model its file in pieces of bytes, where it is not one of the site's models
   */
  create(spec, ...model) {
    return this.#engine.create(JSON.parse(spec), model.length ? model.map(copyOf) : null);
  }

  /**
   * @param {number} session
   * @param {string} call JSON {feeds: Head[], fetches: string[]}
   */
  prepare(session, call) {
    return new AwaitedCall(this.#heap, call, this.#engine, session);
  }

  /**
   * @param {number} session made with enableProfiling
   * @returns {Promise<string>} JSON: {events} or {error}; never rejects
   */
  async profile(session) {
    try {
      return JSON.stringify({ events: await this.#engine.profile(session) });
    } catch (error) {
      return failure(error);
    }
  }

  /** @param {number} session */
  release(session) {
    this.#engine.release(session);
  }

  /** Bytes of WebAssembly memory: Python's and ONNX Runtime's. */
  memoryBytes() {
    return memoryBytes();
  }

  /** The app leaves; Python has released its sessions. */
  close() {}

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
  #heap;
  #plan;
  waits;
  backend;
  models;
  /** @type {Tokenizers | null} where the app uses some */
  tokenizers = null;

  /**
   * @param {Plan} plan
   * @param {Heap} heap
   * @param {AtomicsClient} client
   */
  constructor(plan, heap, client) {
    this.#plan = plan;
    this.#heap = heap;
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
   * @param {...PyProxy} model
   */
  create(spec, ...model) {
    return this.#client.call({ op: "create", spec: JSON.parse(spec) }, model.map(copyOf)).head.session;
  }

  /**
   * @param {number} session
   * @param {string} call
   */
  prepare(session, call) {
    return new BlockingCall(this.#heap, call, this.#client, session);
  }

  /** @param {number} session */
  profileSync(session) {
    return JSON.stringify(this.#client.call({ op: "profile", session }).head);
  }

  /** @param {number} session */
  release(session) {
    this.#client.call({ op: "release", session });
  }

  /** Bytes of WebAssembly memory, in both workers. */
  memoryBytes() {
    return memoryBytes() + this.#client.call({ op: "memory" }).head.bytes;
  }

  /** The app leaves, and ONNX Runtime with it. */
  close() {
    this.#client.close();
  }

  /** @param {string} id */
  bytesSync(id) {
    const { head, data } = this.#client.call({ op: "bytes", id });
    return head.error ? { error: head.error.message } : { error: "", data: data[0].slice() };
  }
}

/**
 * @param {Uint8Array} heap
 * @param {string} type
 * @param {number[]} dims
 * @param {number | string} given
 */
function dataOf(heap, type, dims, given) {
  if (typeof given === "string") return JSON.parse(given);
  const bytes = dims.reduce((product, size) => product * size, itemBytes(type));
  return bytes ? heap.subarray(given, given + bytes) : new Uint8Array(); // whose address may be odd
}

/** @param {unknown} error @returns {string} JSON {error} with the core's exception class */
function failure(error) {
  const type = error instanceof OrtError ? error.type : "ProviderError";
  return JSON.stringify({ error: { type, message: error instanceof Error ? error.message : String(error) } });
}

/** @param {PyProxy} array */
function copyOf(array) {
  const buffer = /** @type {any} */ (array).getBuffer("u8");
  const copy = buffer.data.slice();
  buffer.release();
  return copy;
}
