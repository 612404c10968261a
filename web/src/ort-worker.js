/**
 * The worker that holds ONNX Runtime Web where Python can only wait by blocking (atomics.js tells how they talk).
 */

import { Assets } from "./assets.js";
import { ANSWERED, HEAD, NEEDS_ROOM, SIZE, TURN, layout, read, write } from "./atomics.js";
import { Engine } from "./engine.js";
import { OrtError } from "./failures.js";
import { fetchThrough, memoryBytes } from "./seam.js";
import { packed, unpacked } from "./tensors.js";

/** @type {Engine} */
let engine;
/** @type {Int32Array} */
let turn;
/** An answer that waits for room. @type {{head: Uint8Array, buffers: Uint8Array[]} | null} */
let waiting = null;

self.onmessage = async ({ data: { start, ask, room } }) => {
  if (start) return begin(start);
  if (room) return put(room, /** @type {NonNullable<typeof waiting>} */ (waiting));
  const { head, data } = read(ask, turn[HEAD]);
  let answer;
  try {
    answer = await serve(head, data);
  } catch (error) {
    const type = error instanceof OrtError ? error.type : "ProviderError";
    answer = { head: { error: { type, message: error instanceof Error ? error.message : String(error) } } };
  }
  const buffers = answer.buffers ?? [];
  const sizes = buffers.map((b) => b.length);
  put(ask, { head: new TextEncoder().encode(JSON.stringify({ ...answer.head, sizes })), buffers });
};

/** @param {{site: any, root: string, isolated: boolean, files: any, turn: Int32Array}} config */
async function begin({ site, root, isolated, files, turn: shared }) {
  turn = shared;
  const assets = new Assets(site, root, (loaded, total) =>
    self.postMessage({ progress: { stage: "download", loaded, total } }),
  );
  fetchThrough(assets);
  engine = new Engine(site, assets, isolated);
  engine.prefetch(files);
  await engine.prefetched();
  self.postMessage({ ready: true });
}

/**
 * @param {any} request
 * @param {Uint8Array[]} data
 * @returns {Promise<{head: object, buffers?: Uint8Array[]}>}
 */
async function serve({ op, ...request }, data) {
  switch (op) {
    case "create":
      return { head: { session: engine.create(request.spec, data.length ? data.map((piece) => piece.slice()) : null) } };
    case "run":
      return run(request, data);
    case "profile":
      return { head: { events: await engine.profile(request.session) } };
    case "release":
      engine.release(request.session);
      return { head: {} };
    case "bytes":
      return { head: {}, buffers: [await engine.bytes(request.id, "python")] };
    case "memory":
      return { head: { bytes: memoryBytes() } };
    case "describe":
      return { head: engine.describe(request.provider) };
    default:
      throw new Error(`ort-worker does not know ${op}`);
  }
}

/**
 * @param {{session: number, names: string[], feeds: [string, number[], string[]?][], fetches: string[]}} request
 * @param {Uint8Array[]} data
 */
async function run({ session, names, feeds: heads, fetches }, data) {
  const values = unpacked(heads, data);
  const feeds = Object.fromEntries(names.map((name, i) => [name, values[i]]));
  const { heads: outputs, buffers } = packed(await engine.run(session, () => feeds, fetches));
  return { head: { outputs }, buffers };
}

/**
 * @param {SharedArrayBuffer} block
 * @param {{head: Uint8Array, buffers: Uint8Array[]}} answer
 */
function put(block, answer) {
  const { total } = layout(answer.head.length, answer.buffers.map((b) => b.length));
  const fits = total <= block.byteLength;
  waiting = fits ? null : answer;
  if (fits) write(block, answer.head, answer.buffers);
  turn[HEAD] = answer.head.length;
  turn[SIZE] = total;
  Atomics.store(turn, TURN, fits ? ANSWERED : NEEDS_ROOM);
  Atomics.notify(turn, TURN);
}
