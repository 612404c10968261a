/**
 * The one place that fetches the site's files, and that believes none of them before it has looked.
 *
 * Hosts cut downloads, answer with an HTML page and status 200, serve .wasm as text, or hold half of an old deployment.
 * Every file is compared with what site.json says, asked for once more past the HTTP cache when it is wrong, and refused
 * with a sentence that names it when it still is. Downloads run side by side; progress counts bytes over all of them.
 */

import { AssetError, download, words } from "./download.js";
import { keep } from "./keep.js";

/** @import { Handed, Site, Variant } from "./protocol.js" */

/** Parts of a model that are on their way at once where they are joined. */
const AHEAD = 3;

export class Assets {
  #site;
  #root;
  #onProgress;
  #keeps;
  #handed;
  /** What the page had begun to fetch, by path, until it is taken. @type {Map<string, Promise<Handed | null> | undefined>} */
  #given = new Map();
  /** @type {Map<string, Promise<Uint8Array<ArrayBuffer>>>} */
  #loading = new Map();
  /** @type {Map<string, Promise<WebAssembly.Module>>} */
  #compiling = new Map();
  /** Files that could not be had, the first of them first. @type {Map<string, unknown>} */
  #faults = new Map();
  #loaded = 0;
  #total = 0;
  /** @type {Map<string, number>} */
  #received = new Map();

  /**
   * @param {Site} site
   * @param {string} root absolute URL, ending in "/"
   * @param {(loaded: number, total: number) => void} [onProgress] bytes, over every file asked for so far
   * @param {boolean} [keeps] files for the service worker, which would download them a second time
   * @param {(path: string, onBytes: (received: number) => void) => Promise<Handed | null> | undefined} [handed] gives files that
   *   somebody else fetches and checks: null where that failed, undefined where nobody does
   */
  constructor(site, root, onProgress = () => {}, keeps = false, handed = () => undefined) {
    this.#site = site;
    this.#root = root;
    this.#onProgress = onProgress;
    this.#keeps = keeps;
    this.#handed = handed;
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

  /**
   * Wait for every download and compilation that runs.
   * @param {(group: string) => boolean} [matters] whether a file of this group does
   * @throws {AssetError} one that matters failed, or did so before
   */
  async settled(matters = () => true) {
    const running = [...this.#loading, ...this.#compiling].filter(([path]) => matters(this.#expected(path).group));
    await Promise.allSettled(running.map(([, work]) => work));
    for (const [path, fault] of this.#faults) if (matters(this.#expected(path).group)) throw fault;
  }

  /**
   * A model's file in its parts, in order.
   * @param {Variant} variant
   */
  pieces({ parts }) {
    return Promise.all(parts.map((part) => this.bytes(part)));
  }

  /**
   * A model's file in one array. Only a few parts are on their way at once: all of them would hold the model twice.
   * @param {Variant} variant
   */
  async model({ parts, bytes }) {
    if (parts.length === 1) return this.bytes(parts[0]);
    for (const part of parts) this.#count(part, 0, this.#expected(part).bytes);
    const whole = new Uint8Array(bytes);
    let at = 0;
    for (const [i, part] of parts.entries()) {
      this.prefetch(parts.slice(i, i + AHEAD));
      const piece = await this.bytes(part);
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
      compiling = this.#compile(path);
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
  async #compile(path) {
    const { bytes } = this.#expected(path);
    const given = await this.#take(path);
    if (!given || !("module" in given)) return WebAssembly.compile(await this.bytes(path));
    this.#count(path, bytes, bytes);
    return given.module;
  }

  /**
   * What somebody else fetches.
   * @param {string} path
   */
  #take(path) {
    if (!this.#given.has(path)) {
      const { bytes } = this.#expected(path);
      this.#given.set(path, this.#handed(path, (received) => this.#count(path, received, bytes)));
    }
    return this.#given.get(path);
  }

  /** @param {string} path */
  async #load(path) {
    const expected = this.#expected(path);
    this.#count(path, 0, expected.bytes);
    const onBytes = (/** @type {number} */ n) => this.#count(path, n, expected.bytes);
    const given = await this.#take(path);
    if (given && "bytes" in given) {
      this.#given.set(path, undefined);
      onBytes(expected.bytes);
      return given.bytes;
    }
    const get = (/** @type {RequestInit} */ init) => download(this.url(path), path, expected, init, onBytes);
    try {
      const { bytes, kept } = await get(given === null ? { cache: "reload" } : {}).catch((error) => {
        if (error instanceof AssetError) return get({ cache: "reload" });
        throw error;
      });
      this.#faults.delete(path);
      if (this.#keeps && !kept) keep(this.#site, this.#root, path, bytes);
      return bytes;
    } catch (error) {
      this.#faults.set(path, error);
      throw error;
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
