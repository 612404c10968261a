/**
 * Waiting without JSPI: this worker asks, sleeps in Atomics.wait, and wakes up to the answer.
 *
 * ONNX Runtime Web runs in a second worker (ort-worker.js). One block of shared memory carries what is asked and what is
 * answered: JSON, then buffers, each at a multiple of 16 bytes. A second, small one says whose turn it is. The block grows
 * to what a call or an answer needs; an answer that does not fit waits until the asker has brought a larger one.
 */

import { here } from "./here.js";

/** @import { Files } from "./choose.js" */
/** @import { Progress, Site } from "./protocol.js" */

/** States of the call: TURN holds one of them, HEAD and SIZE say how much is in the block. */
export const TURN = 0;
export const HEAD = 1;
export const SIZE = 2;
export const ASKED = 0;
export const ANSWERED = 1;
export const NEEDS_ROOM = 2;

const FIRST_BYTES = 1 << 20;
/** A block of this size stays for the next call; what a larger one carried, such as a model, may not come again. */
const KEPT_BYTES = 64 << 20;
/** How long the second worker may take to start: a script to load, no model and no WebAssembly yet. */
const START_MS = 30_000;

/**
 * The bytes that a head and buffers take, and where each buffer begins.
 * @param {number} headBytes
 * @param {number[]} sizes
 */
export function layout(headBytes, sizes) {
  let at = align(headBytes);
  const offsets = sizes.map((size) => {
    const offset = at;
    at = align(at + size);
    return offset;
  });
  return { offsets, total: at };
}

/** @param {number} n the next multiple of 16, which suits every element type */
function align(n) {
  return Math.ceil(n / 16) * 16;
}

/**
 * Write a head and buffers into a block that is large enough.
 * @param {SharedArrayBuffer} block
 * @param {Uint8Array} head
 * @param {Uint8Array[]} buffers
 */
export function write(block, head, buffers) {
  const bytes = new Uint8Array(block);
  bytes.set(head);
  const { offsets } = layout(head.length, buffers.map((b) => b.length));
  buffers.forEach((buffer, i) => bytes.set(buffer, offsets[i]));
}

/**
 * Read them back; the buffers are views.
 * @param {SharedArrayBuffer} block
 * @param {number} headBytes
 * @returns {{head: any, data: Uint8Array[]}} head.sizes says how long each buffer is
 */
export function read(block, headBytes) {
  // TextDecoder refuses shared memory, hence the copy
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(block, 0, headBytes).slice()));
  const { offsets } = layout(headBytes, head.sizes);
  return { head, data: head.sizes.map((/** @type {number} */ size, /** @type {number} */ i) => new Uint8Array(block, offsets[i], size)) };
}

/** The asking side. */
export class AtomicsClient {
  #worker;
  #turn = new Int32Array(new SharedArrayBuffer(16));
  #block = new SharedArrayBuffer(FIRST_BYTES);
  #closed = false;

  /** @param {Worker} worker */
  constructor(worker) {
    this.#worker = worker;
  }

  /**
   * Start the second worker and wait, without blocking, until it has the app's models.
   * @param {{site: Site, root: string, isolated: boolean, files: Record<string, Files>, onProgress?: (p: Progress) => void}} options
   */
  static async start({ onProgress, ...config }) {
    const worker = new Worker(here("ort-worker.js"), { type: "module", name: "onnxruntime" });
    const client = new AtomicsClient(worker);
    await new Promise((resolve, reject) => {
      let timer = setTimeout(() => reject(new Error("the worker for ONNX Runtime did not start")), START_MS);
      worker.onerror = (event) => reject(new Error(`the worker for ONNX Runtime: ${event.message || "did not start"}`));
      worker.onmessage = ({ data }) => {
        clearTimeout(timer);
        if (data.progress) onProgress?.(data.progress);
        if (data.ready) resolve(undefined);
      };
      worker.postMessage({ start: { ...config, turn: client.#turn } });
    });
    return client;
  }

  /**
   * Ask and block until the answer is there. Its buffers are views that the next call overwrites.
   * @param {object} request
   * @param {Uint8Array[]} [buffers]
   * @returns {{head: any, data: Uint8Array[]}}
   */
  call(request, buffers = []) {
    if (this.#closed) return { head: { error: { type: "ProviderError", message: "the app has left this worker" } }, data: [] };
    const sizes = buffers.map((b) => b.length);
    const head = new TextEncoder().encode(JSON.stringify({ ...request, sizes }));
    this.#reserve(layout(head.length, sizes).total);
    write(this.#block, head, buffers);
    this.#turn[HEAD] = head.length;
    let turn = this.#ask({ ask: this.#block });
    if (turn === NEEDS_ROOM) {
      this.#reserve(this.#turn[SIZE]);
      turn = this.#ask({ room: this.#block });
    }
    return read(this.#block, this.#turn[HEAD]);
  }

  /** End the second worker. */
  close() {
    this.#closed = true;
    this.#worker.terminate();
  }

  /** @param {number} bytes */
  #reserve(bytes) {
    const { byteLength } = this.#block;
    if (bytes > byteLength || (byteLength > KEPT_BYTES && bytes < byteLength / 2)) {
      this.#block = new SharedArrayBuffer(Math.max(bytes, FIRST_BYTES));
    }
  }

  /** @param {object} message */
  #ask(message) {
    Atomics.store(this.#turn, TURN, ASKED);
    this.#worker.postMessage(message);
    Atomics.wait(this.#turn, TURN, ASKED);
    return Atomics.load(this.#turn, TURN);
  }
}
