/**
 * One build of ONNX Runtime Web in this worker: loaded at first use, one thing at a time, every failure named.
 *
 * ONNX Runtime Web loses error messages when sessions are created side by side, and hangs when two runs overlap: so
 * everything queues here. After a failed run on the GPU the next one never returns; so the first failure is the last run.
 */

import { OrtError, createFailure, runFailure, words } from "./failures.js";
import { mark } from "./marks.js";
import { printed } from "./printed.js";
import { bytesOf, typed } from "./tensors.js";
import { apart } from "./weights.js";

/** @import * as Ort from "onnxruntime-common" */
/** @import { Assets } from "./assets.js" */
/** @import { OrtFiles } from "./protocol.js" */
/** @import { RawTensor } from "./tensors.js" */

/** @typedef {"wasm" | "webgpu"} Provider */

/** How long threads may take to start before one thread is tried instead; where they start they need about 1 s. */
const THREADS_START_MS = 20_000;
/** How long a run on the GPU may take; a software adapter needs 100 times as long as a real one. */
const GPU_RUN_MS = 180_000;

export class Runtime {
  #files;
  #assets;
  #provider;
  /** @type {Promise<typeof Ort> | undefined} */
  #loading;
  /** @type {Promise<unknown>} */
  #queue = Promise.resolve();
  /** Who waits for the GPU. @type {Set<(error: OrtError) => void>} */
  #waiting = new Set();
  /** Sessions that are open, and the device that they compute on. */
  #open = 0;
  /** @type {GPUDevice | undefined} */
  #device;

  /** Threads that computations use, and why not more. */
  threads;
  threadsReason;
  /** Why nothing more can run here; "" while all is well. */
  broken = "";

  /**
   * @param {OrtFiles} files of the build
   * @param {Assets} assets
   * @param {Provider} provider
   * @param {{threads: number, reason: string}} threads
   */
  constructor(files, assets, provider, { threads, reason }) {
    this.#files = files;
    this.#assets = assets;
    this.#provider = provider;
    this.threads = threads;
    this.threadsReason = reason;
  }

  /** Start the downloads. */
  prefetch() {
    this.#assets.wasm(this.#files.wasm).catch(() => {}); // create() meets the failure
  }

  /**
   * Make a model ready.
   * @param {Uint8Array[] | Promise<Uint8Array[]>} model its file in pieces
   * @param {Ort.InferenceSession.SessionOptions} options
   * @returns {Promise<Ort.InferenceSession>}
   * @throws {OrtError}
   */
  create(model, options) {
    return this.#next(async () => {
      const ort = await (this.#loading ??= this.#load());
      try {
        const { graph, files: externalData } = apart(await model);
        const session = await this.#guard(
          ort.InferenceSession.create(graph, { ...options, externalData, executionProviders: [this.#provider] }),
        );
        this.#open++;
        mark("session");
        await this.#watchDevice(ort);
        return session;
      } catch (error) {
        throw createFailure(error);
      }
    });
  }

  /**
   * Compute. The feeds are views that may move between now and the run's turn: `take` gives them when it is due.
   * @param {Ort.InferenceSession} session
   * @param {() => Record<string, RawTensor>} take
   * @param {string[]} fetches
   * @returns {Promise<RawTensor[]>} in the order of fetches
   * @throws {OrtError}
   */
  run(session, take, fetches) {
    return this.#next(async () => {
      const ort = /** @type {typeof Ort} */ (await this.#loading);
      for (let again = false; ; again = true) {
        const feeds = take();
        try {
          const answer = await this.#guard(session.run(tensors(ort, feeds), fetches));
          return fetches.map((name) => raw(answer[name]));
        } catch (error) {
          // Python may run, and its heap grow away from under a view, until ONNX Runtime has copied the last feed.
          const moved = Object.values(feeds).some(([, dims, data]) => data.length === 0 && !dims.includes(0));
          if (!moved || again) throw this.#runFailure(error);
        }
      }
    });
  }

  /**
   * The time table of a session that was made with `enableProfiling`; it keeps no more of it afterwards.
   * @param {Ort.InferenceSession} session
   * @returns {Promise<object[]>} Chrome-trace events
   */
  profile(session) {
    return this.#next(async () => {
      const text = await printed(() => session.endProfiling());
      return JSON.parse(text);
    });
  }

  /**
   * Free a session's memory, before anything that is asked for later: the next model may need it.
   * @param {Promise<Ort.InferenceSession>} made what create() gave
   */
  release(made) {
    return this.#next(async () => {
      const session = await made;
      if (--this.#open === 0) this.#device = undefined; // ONNX Runtime destroys the device with its last session
      return session.release();
    }).catch(() => {}); // a broken runtime ends with its worker
  }

  /**
   * @template T
   * @param {() => Promise<T>} job
   * @returns {Promise<T>}
   */
  #next(job) {
    const result = this.#queue.then(() => {
      if (this.broken) throw new OrtError("Refused", this.broken);
      return job();
    });
    this.#queue = result.catch(() => {});
    return result;
  }

  /** @returns {Promise<typeof Ort>} */
  async #load() {
    const { entry } = this.#files;
    const first = /** @type {typeof Ort} */ (await this.#assets.module(entry));
    this.#configure(first);
    if (this.threads === 1) return first;
    try {
      await start(first);
      return first;
    } catch (error) {
      // A runtime that failed to start cannot start again; a module under another address is another runtime.
      const second = /** @type {typeof Ort} */ (await import(`${this.#assets.url(entry)}#one-thread`));
      this.threads = 1;
      this.threadsReason = `threads did not start (${words(error)})`;
      this.#configure(second);
      return second;
    }
  }

  /** @param {typeof Ort} ort */
  #configure({ env }) {
    env.wasm.wasmPaths = { mjs: this.#assets.url(this.#files.mjs), wasm: this.#assets.url(this.#files.wasm) };
    env.wasm.numThreads = this.threads;
    env.wasm.initTimeout = this.threads > 1 ? THREADS_START_MS : 0;
    env.wasm.proxy = false;
    env.logLevel = "error";
  }

  /** @param {typeof Ort} ort */
  async #watchDevice(ort) {
    if (this.#provider !== "webgpu" || this.#device) return;
    const device = /** @type {GPUDevice | undefined} */ (await /** @type {any} */ (ort.env.webgpu).device);
    this.#device = device;
    device?.lost.then(({ message, reason }) => {
      if (device === this.#device) this.#break(`the graphics device was lost: ${message || reason}`);
    });
  }

  /** @param {string} why */
  #break(why) {
    this.broken ||= `WebGPU cannot go on in this worker: ${why}`;
    for (const reject of this.#waiting) reject(new OrtError("Refused", this.broken));
  }

  /**
   * What the GPU owes us, or an end to the waiting.
   * @template T
   * @param {Promise<T>} work
   */
  async #guard(work) {
    if (this.#provider !== "webgpu") return work;
    let timer;
    /** @type {(error: Error) => void} */
    let lose = () => {};
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting.add((lose = reject));
        timer = setTimeout(() => reject(new Error(`no answer from the GPU within ${GPU_RUN_MS / 1000} s`)), GPU_RUN_MS);
        work.then(resolve, reject);
      });
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(lose);
    }
  }

  /** @param {unknown} error */
  #runFailure(error) {
    const failure = runFailure(error);
    const inside = failure.type !== "Refused" && !(error instanceof TypeError); // not before ONNX Runtime began
    if (this.#provider !== "webgpu" || !inside) return failure;
    this.#break(failure.message);
    return new OrtError("Refused", this.broken);
  }
}

/**
 * Start the runtime and its threads: they start with the first session, even one of a file that is no model.
 * @param {typeof Ort} ort
 */
async function start(ort) {
  const options = { executionProviders: ["wasm"], logSeverityLevel: /** @type {4} */ (4) };
  await ort.InferenceSession.create(new Uint8Array(1), options).catch((error) => {
    if (!/ERROR_CODE/.test(words(error))) throw error; // only a runtime that runs has an opinion on the file
  });
}

/**
 * @param {typeof Ort} ort
 * @param {Record<string, RawTensor>} feeds
 */
function tensors(ort, feeds) {
  /** @type {Record<string, Ort.Tensor>} */
  const out = {};
  for (const [name, [type, dims, data]] of Object.entries(feeds)) {
    const array = /** @type {any} */ (Array.isArray(data) ? data : typed(type, data));
    out[name] = new ort.Tensor(/** @type {any} */ (type), array, dims);
  }
  return out;
}

/** @param {Ort.OnnxValue} value @returns {RawTensor} */
function raw(value) {
  const { type, dims, data } = value;
  return [type, [...dims], Array.isArray(data) ? data : bytesOf(/** @type {ArrayBufferView} */ (data))];
}
