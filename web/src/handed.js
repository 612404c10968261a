/**
 * Files that the page began to fetch before there was anybody to ask for them (early.js, handover.js), as the worker gets
 * them: checked, and compiled where they are WebAssembly.
 */

/** @import { ToWorker, Handed } from "./protocol.js" */

class Expected {
  taken = false;
  /** @type {(file: Handed | null) => void} */
  give = () => {};
  /** @type {Promise<Handed | null>} */
  given = new Promise((resolve) => (this.give = resolve));
  /** @type {(received: number) => void} */
  onBytes = () => {};
}

/** By path. @type {Map<string, Expected>} */
const files = new Map();

self.addEventListener("message", (/** @type {MessageEvent<ToWorker>} */ { data: { early } }) => {
  if (!early) return;
  if ("expect" in early) {
    for (const path of early.expect) files.set(path, new Expected());
    for (const url of early.imports) import(url).catch(() => {}); // Assets imports it again, and hears why not
  } else if ("received" in early) files.get(early.path)?.onBytes(early.received);
  else files.get(early.path)?.give(early.file);
});

/**
 * Take a file that the page has, or will have; once.
 * @param {string} path as site.json names it
 * @param {(received: number) => void} onBytes
 * @returns {Promise<Handed | null> | undefined} undefined: the page knows nothing of it; null: it could not be had
 */
export function handed(path, onBytes) {
  const file = files.get(path);
  if (!file || file.taken) return undefined;
  file.taken = true;
  file.onBytes = onBytes;
  return file.given;
}
