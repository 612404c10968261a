/**
 * Hands files that this visit downloaded to the service worker, which would otherwise download them a second time: hosts
 * forbid the HTTP cache, and browsers keep nothing in it that is large.
 *
 * sw.js finds them where it would put them itself: what lies there early is only ever a file with the right contents.
 * Writing is slow work for the browser, so it waits until the app is ready; on a slow network there is time before.
 */

/** @import { Site } from "./protocol.js" */

/** After so long the network is what a start waits for, not the processor. */
const PATIENCE_MS = 3000;

/** @type {(() => Promise<void>)[]} */
const waiting = [];
let written = Promise.resolve();
let ready = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/**
 * Keep a file whose sha256 is right. Nothing waits for it, and nothing needs it: the disk may be full.
 * @param {Site} site
 * @param {string} root absolute URL, ending in "/"
 * @param {string} path as site.json names it
 * @param {BufferSource} bytes
 */
export function keep(site, root, path, bytes) {
  if (path.endsWith(".js")) return; // scripts get more headers, from sw.js
  const headers = {
    "content-type": path.endsWith(".wasm") ? "application/wasm" : "application/octet-stream",
    "cross-origin-resource-policy": "same-origin",
    "x-onnxlet-sha256": site.files[path]?.sha256 ?? "",
  };
  const response = new Response(bytes, { headers }); // a copy: the bytes themselves are handed on
  waiting.push(() => put(root, path, response).catch(() => {}));
  if (ready) void kept();
  timer ??= setTimeout(kept, PATIENCE_MS);
}

/** The start is over: write what waits, and all that comes later at once. Resolves when it is written. */
export function kept() {
  ready = true;
  const now = waiting.splice(0).map((write) => write());
  return (written = Promise.all([written, ...now]).then(() => {}));
}

/**
 * @param {string} root
 * @param {string} path
 * @param {Response} response
 */
async function put(root, path, response) {
  const cache = await globalThis.caches?.open(`onnxlet-files ${root}`); // sandboxed frames throw
  await cache?.put(new URL(path, root).href, response);
}
