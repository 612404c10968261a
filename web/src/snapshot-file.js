/**
 * The file of a snapshot: facts as JSON, and Python's memory as the 8-byte words that differ from those of a fresh instance.
 *
 * Layout, little-endian: magic, bytes of the JSON, number of runs (u32 each), padding to 16; the JSON, padded to 8; the
 * runs, each as words to pass over and words to take (u32, u32); the words. Nothing is compressed: the host does that.
 */

const MAGIC = 0x4e53_4e4f; // "ONSN"
const HEADER = 16;
/** A gap of so few words costs less in the run before it than as a run of its own. */
const GAP = 2;

/**
 * @typedef {object} Facts
 * @property {string} of sha256 of what it was made of
 * @property {string} pyodide its version
 * @property {unknown} config what Pyodide's own snapshots hold beside memory
 * @property {{name: string, handle: number, memory: number, table: number, slots: number, global: boolean, refcount: number}[]} libraries
 * @property {[number, string, string][]} slots of the function table: index, whose export ("" is Python itself), its name
 * @property {[string, number][]} got addresses by symbol, where a fresh instance has others
 * @property {{before: number, after: number}} table its length before and after the imports
 * @property {number} heapBytes
 * @property {number} stack the stack pointer
 */

/**
 * @param {Facts} facts
 * @param {Uint8Array} heap
 * @param {BigUint64Array} fresh the start of a fresh instance's memory; beyond it is zero
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function write(facts, heap, fresh) {
  const words = new BigUint64Array(heap.buffer, heap.byteOffset, heap.length >> 3);
  const same = new BigUint64Array(words.length);
  same.set(fresh);
  /** @type {number[]} */
  const runs = [];
  let end = 0; // of the last run
  let taken = 0;
  for (let at = 0; at < words.length; ) {
    if (words[at] === same[at]) {
      at += 1;
      continue;
    }
    const start = at;
    let last = at;
    for (; at < words.length && at - last <= GAP; at++) if (words[at] !== same[at]) last = at;
    runs.push(start - end, last + 1 - start);
    taken += last + 1 - start;
    end = last + 1;
  }
  const json = new TextEncoder().encode(JSON.stringify(facts));
  const jsonBytes = (json.length + 7) & ~7;
  const file = new Uint8Array(HEADER + jsonBytes + runs.length * 4 + taken * 8);
  new Uint32Array(file.buffer, 0, 3).set([MAGIC, json.length, runs.length / 2]);
  file.set(json, HEADER);
  new Uint32Array(file.buffer, HEADER + jsonBytes, runs.length).set(runs);
  const target = new BigUint64Array(file.buffer, HEADER + jsonBytes + runs.length * 4);
  let [at, to] = [0, 0];
  for (let i = 0; i < runs.length; i += 2) {
    at += runs[i] ?? 0;
    const length = runs[i + 1] ?? 0;
    target.set(words.subarray(at, at + length), to);
    at += length;
    to += length;
  }
  return file;
}

/**
 * @param {Uint8Array<ArrayBuffer>} file
 * @returns {{facts: Facts, apply: (heap: Uint8Array, used: number) => void}} apply: make a fresh instance's memory that of the
 *   snapshot; `used` is how much of it has been in use
 * @throws {Error} it is no such file
 */
export function read(file) {
  const [magic, jsonBytes = 0, count = 0] = file.length > HEADER ? new Uint32Array(file.buffer, file.byteOffset, 3) : [];
  const runsAt = HEADER + ((jsonBytes + 7) & ~7);
  const wordsAt = runsAt + count * 8;
  if (magic !== MAGIC || wordsAt > file.length) throw new Error("it is no snapshot");
  const facts = JSON.parse(new TextDecoder().decode(file.subarray(HEADER, HEADER + jsonBytes)));
  const apply = (/** @type {Uint8Array} */ heap, /** @type {number} */ used) => {
    heap.fill(0, facts.stack, used); // the stack that is in use, and the heap above it
    const runs = new Uint32Array(file.buffer, file.byteOffset + runsAt, count * 2);
    const words = new BigUint64Array(file.buffer, file.byteOffset + wordsAt);
    const target = new BigUint64Array(heap.buffer, heap.byteOffset, heap.length >> 3);
    let [at, from] = [0, 0];
    for (let i = 0; i < runs.length; i += 2) {
      at += runs[i] ?? 0;
      const length = runs[i + 1] ?? 0;
      target.set(words.subarray(from, from + length), at);
      at += length;
      from += length;
    }
    if (from !== words.length) throw new Error("it is cut, or its runs are wrong");
  };
  return { facts, apply };
}
