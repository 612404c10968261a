/**
 * The one place that fetches the site's files, and that believes none of them before it has looked.
 *
 * Hosts cut downloads, answer with an HTML page and status 200, serve .wasm as text, or hold half of an old deployment.
 * Every file is compared with what site.json says (bytes, then sha256 where the browser has crypto.subtle), asked for once
 * more past the HTTP cache when it is wrong, and refused with a sentence that names it when it still is. Downloads run side
 * by side; progress counts bytes over all of them. Nothing here needs streams, DecompressionStream or a secure context.
 */

/** @import { Site, SiteFile, Variant } from "./protocol.js" */

/** The service worker's mark on a file whose sha256 it has checked; site.json's own value has to stand in it. */
const VERIFIED = "x-onnxlet-sha256";
const REMEDY =
  "Reload the page; if it happens again, the site was not uploaded completely: build it again and upload the whole folder.";

/** The network itself: seam.js puts another `fetch` in place, which ends here. */
const network = globalThis.fetch.bind(globalThis);

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

export class Assets {
  #site;
  #root;
  #onProgress;
  /** @type {Map<string, Promise<Uint8Array<ArrayBuffer>>>} */
  #loading = new Map();
  /** @type {Map<string, Promise<WebAssembly.Module>>} */
  #compiling = new Map();
  /** @type {unknown} the first file that could not be had */
  #fault;
  #loaded = 0;
  #total = 0;
  /** @type {Map<string, number>} */
  #received = new Map();

  /**
   * @param {Site} site
   * @param {string} root absolute URL, ending in "/"
   * @param {(loaded: number, total: number) => void} [onProgress] bytes, over every file asked for so far
   */
  constructor(site, root, onProgress = () => {}) {
    this.#site = site;
    this.#root = root;
    this.#onProgress = onProgress;
  }

  /** Every file that was asked for so far, as site.json names them. */
  get used() {
    return [...this.#received.keys()];
  }

  /** @param {string} path */
  url(path) {
    return new URL(path, this.#root).href;
  }

  /**
   * The name in site.json of what an address points to, or null where it is not a file of the site.
   * @param {string | URL | Request} address
   */
  pathOf(address) {
    const { href } = new URL(address instanceof Request ? address.url : address, this.#root);
    if (!href.startsWith(this.#root)) return null;
    const path = decodeURIComponent(href.slice(this.#root.length).replace(/[?#].*$/, ""));
    return path in this.#site.files ? path : null;
  }

  /**
   * Start downloads; whoever asks for one of the files later gets the one that runs. A failure waits for that moment too.
   * @param {string[]} paths
   */
  prefetch(paths) {
    for (const path of paths) this.#start(path).catch(() => {});
  }

  /**
   * A file's bytes, checked. They are handed over: asking again downloads again.
   * @param {string} path
   * @throws {AssetError}
   */
  async bytes(path) {
    const loading = this.#start(path);
    try {
      return await loading;
    } finally {
      this.#loading.delete(path);
    }
  }

  /** Wait for every download and compilation that runs. @throws {AssetError} one of them failed, or did so before */
  async settled() {
    await Promise.allSettled([...this.#loading.values(), ...this.#compiling.values()]);
    if (this.#fault) throw this.#fault;
  }

  /**
   * A model's file, its parts joined in order.
   * @param {Variant} variant
   */
  async model({ parts, bytes }) {
    const pieces = await Promise.all(parts.map((part) => this.bytes(part)));
    if (pieces.length === 1) return /** @type {Uint8Array<ArrayBuffer>} */ (pieces[0]);
    const whole = new Uint8Array(bytes);
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }

  /**
   * A WebAssembly file, checked and compiled; compiled once however often it is asked for.
   * @param {string} path
   */
  wasm(path) {
    let compiling = this.#compiling.get(path);
    if (!compiling) {
      compiling = this.bytes(path).then((bytes) => WebAssembly.compile(bytes));
      compiling.catch(() => this.#compiling.delete(path));
      this.#compiling.set(path, compiling);
    }
    return compiling;
  }

  /**
   * Import an ES module of the site. Where that fails, the file is looked at: a wrong one is named, and a right one that the
   * host sends with a wrong MIME type is imported from memory.
   * @param {string} path
   * @returns {Promise<any>}
   */
  async module(path) {
    const { bytes } = this.#expected(path);
    this.#count(path, 0, bytes);
    try {
      return await import(this.url(path));
    } catch (error) {
      const source = new Blob([await this.bytes(path)], { type: "text/javascript" });
      const again = `${this.url(path)}?again`; // browsers may remember that the first import failed
      const blob = URL.createObjectURL(source);
      return await import(again)
        .catch(() => import(blob))
        .catch(() => {
          throw new AssetError(path, `is right, but the browser refuses to run it (${words(error)})`);
        })
        .finally(() => URL.revokeObjectURL(blob));
    } finally {
      this.#count(path, bytes, bytes);
    }
  }

  /** @param {string} path */
  #expected(path) {
    const expected = this.#site.files[path];
    if (!expected) throw new AssetError(path, "is not part of this site, says its site.json");
    return expected;
  }

  /** @param {string} path */
  #start(path) {
    let loading = this.#loading.get(path);
    if (!loading) {
      loading = this.#load(path);
      this.#loading.set(path, loading);
    }
    return loading;
  }

  /** @param {string} path */
  async #load(path) {
    const expected = this.#expected(path);
    this.#count(path, 0, expected.bytes);
    const onBytes = (/** @type {number} */ n) => this.#count(path, n, expected.bytes);
    try {
      return await download(this.url(path), path, expected, {}, onBytes);
    } catch (first) {
      if (!(first instanceof AssetError)) throw first;
      return await download(this.url(path), path, expected, { cache: "reload" }, onBytes).catch((error) => {
        this.#fault ??= error;
        throw error;
      });
    }
  }

  /**
   * @param {string} path
   * @param {number} received
   * @param {number} bytes
   */
  #count(path, received, bytes) {
    const before = this.#received.get(path);
    if (before === undefined) this.#total += bytes;
    this.#loaded += received - (before ?? 0);
    this.#received.set(path, received);
    this.#onProgress(this.#loaded, this.#total);
  }
}

/**
 * @param {string} url
 * @param {string} path
 * @param {SiteFile} expected
 * @param {RequestInit} init
 * @param {(received: number) => void} onBytes
 */
async function download(url, path, expected, init, onBytes) {
  const response = await network(url, init).catch((error) => {
    throw new AssetError(path, `could not be fetched (${words(error)}): the network or the host is out of reach`);
  });
  if (!response.ok) throw new AssetError(path, `the host answered ${response.status} ${response.statusText}`.trimEnd());
  const bytes = await read(response, path, expected, onBytes);
  const fault = lookAt(path, bytes, expected, response);
  if (fault) throw new AssetError(path, fault);
  if (response.headers.get(VERIFIED) === expected.sha256) return bytes;
  const digest = await sha256(bytes);
  if (digest !== undefined && digest !== expected.sha256) {
    throw new AssetError(path, `has the right size (${bytes.length} bytes) but other contents than site.json says`);
  }
  return bytes;
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
function words(error) {
  return String(error?.message ?? error);
}
