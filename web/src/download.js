/**
 * One download, and what can be wrong with it.
 *
 * A file is compared with what site.json says of it: bytes, then sha256 where the browser has crypto.subtle. Every fault is
 * a sentence. Nothing here needs streams or a secure context. How it comes is transport.js's affair.
 */

import { VERIFIED, fetchFile, network } from "./transport.js";

/** @import { SiteFile } from "./protocol.js" */

const REMEDY =
  "Reload the page; if it happens again, the site was not uploaded completely: build it again and upload the whole folder.";

/** A file of the site that is missing, cut or not what it should be. `path` is its name in site.json. */
export class AssetError extends Error {
  name = "AssetError";

  /**
   * @param {string} path
   * @param {string} fault
   */
  constructor(path, fault) {
    super(`${path}: ${fault}. ${REMEDY}`);
    this.path = path;
  }
}

/**
 * Fetch a file once, and look at what came.
 * @param {string} url
 * @param {string} path
 * @param {SiteFile} expected
 * @param {RequestInit} init
 * @param {(received: number) => void} onBytes
 * @returns {Promise<{bytes: Uint8Array<ArrayBuffer>, kept: boolean}>} kept: it came out of the service worker's cache
 * @throws {AssetError}
 */
export async function download(url, path, expected, init, onBytes) {
  const response = await fetchFile(url, expected, init).catch((error) => {
    throw new AssetError(path, `could not be fetched (${words(error)}): the network or the host is out of reach`);
  });
  return receive(response, path, expected, onBytes);
}

/**
 * Read a file's answer, and look at what came.
 * @param {Response} response
 * @param {string} path
 * @param {SiteFile} expected
 * @param {(received: number) => void} onBytes
 * @returns {Promise<{bytes: Uint8Array<ArrayBuffer>, kept: boolean}>} kept: it came out of the service worker's cache
 * @throws {AssetError}
 */
export async function receive(response, path, expected, onBytes) {
  if (!response.ok) throw new AssetError(path, `the host answered ${response.status} ${response.statusText}`.trimEnd());
  const bytes = await read(response, path, expected, onBytes);
  const fault = lookAt(path, bytes, expected, response);
  if (fault) throw new AssetError(path, fault);
  if (response.headers.get(VERIFIED) === expected.sha256) return { bytes, kept: true };
  const digest = await sha256(bytes);
  if (digest !== undefined && digest !== expected.sha256) {
    throw new AssetError(path, `has the right size (${bytes.length} bytes) but other contents than site.json says`);
  }
  return { bytes, kept: false };
}

/**
 * @param {Response} response
 * @param {string} path
 * @param {SiteFile} expected
 * @param {(received: number) => void} onBytes
 * @returns {Promise<Uint8Array<ArrayBuffer>>} what came, at most one chunk longer than expected
 */
async function read(response, path, expected, onBytes) {
  let received = 0;
  try {
    const reader = response.body?.getReader?.();
    if (!reader) {
      const bytes = new Uint8Array(await response.arrayBuffer());
      onBytes(bytes.length);
      return bytes;
    }
    const bytes = new Uint8Array(expected.bytes);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return bytes.subarray(0, received);
      if (received + value.length > expected.bytes) {
        reader.cancel().catch(() => {});
        const more = new Uint8Array(received + value.length);
        more.set(bytes.subarray(0, received));
        more.set(value, received);
        return more;
      }
      bytes.set(value, received);
      received += value.length;
      onBytes(received);
    }
  } catch (error) {
    throw new AssetError(path, `the download broke off after ${received} of ${expected.bytes} bytes (${words(error)})`);
  }
}

/**
 * What is wrong with a file, as far as it can be seen without its hash.
 * @param {string} path
 * @param {Uint8Array} bytes
 * @param {SiteFile} expected
 * @param {Response} response
 * @returns {string | null}
 */
function lookAt(path, bytes, expected, response) {
  if (bytes.length === expected.bytes) return null;
  const start = new TextDecoder().decode(bytes.subarray(0, 200)).trimStart().toLowerCase();
  if (start.startsWith("<!doctype") || start.startsWith("<html")) return "the host answered with an HTML page instead of this file";
  if (bytes.length === 0) return `is empty on the host, expected ${expected.bytes} bytes`;
  if (bytes[0] === 0x1f && bytes[1] === 0x8b && !path.endsWith(".pack")) {
    return "came as gzip that the host does not declare (Content-Encoding is missing)";
  }
  const type = response.headers.get("content-type") ?? "no type";
  const more = bytes.length > expected.bytes ? "more than " : "";
  return `got ${more}${Math.min(bytes.length, expected.bytes)} of ${expected.bytes} bytes, sent as ${type}`;
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {Promise<string | undefined>} hexadecimal; undefined in an insecure context, which has no crypto.subtle
 */
async function sha256(bytes) {
  if (!globalThis.crypto?.subtle) return undefined;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Why a script at this address would not run: for an error event of a worker, which has no message of its own.
 * @param {string} url
 */
export async function describeFailure(url) {
  const name = new URL(url).pathname.split("/").slice(-3).join("/");
  try {
    const response = await network(url, { cache: "reload" });
    const type = response.headers.get("content-type") ?? "no type";
    if (!response.ok) return `${name}: the host answered ${response.status}. ${REMEDY}`;
    if (!/javascript/.test(type)) return `${name}: the host sends it as ${type}; it has to be text/javascript.`;
    return `${name} or a module that it imports cannot run in this browser. A current browser is needed.`;
  } catch (error) {
    return `${name}: could not be fetched (${words(error)}). ${REMEDY}`;
  }
}

/** @param {any} error */
export function words(error) {
  return String(error?.message ?? error);
}
