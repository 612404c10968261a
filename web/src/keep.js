/**
 * Hands files that this visit downloaded to the service worker, which would otherwise download them a second time: hosts
 * forbid the HTTP cache, and browsers keep nothing in it that is large.
 *
 * sw.js finds them where it would put them itself. A build whose cache is not complete serves no page, so what lies there
 * early is only ever a file with the right contents.
 */

/** @import { Site } from "./protocol.js" */

/** @type {Promise<Cache> | undefined} */
let opened;

/**
 * Keep a file whose sha256 is right. Nothing waits for it, and nothing needs it: the disk may be full.
 * @param {Site} site
 * @param {string} root absolute URL, ending in "/"
 * @param {string} path as site.json names it
 * @param {BufferSource} bytes
 */
export function keep(site, root, path, bytes) {
  if (!globalThis.caches || path.endsWith(".js")) return; // scripts get more headers, from sw.js
  const headers = {
    "content-type": path.endsWith(".wasm") ? "application/wasm" : "application/octet-stream",
    "cross-origin-resource-policy": "same-origin",
    "x-onnxlet-sha256": site.files[path]?.sha256 ?? "",
  };
  const response = new Response(bytes, { headers }); // a copy: the bytes themselves are handed on
  opened ??= caches.open(`onnxlet ${root} ${site.build.id}`);
  opened.then((cache) => cache.put(new URL(path, root).href, response)).catch(() => {});
}
