/**
 * The part of Python's library that no start needs: fetched in the background afterwards, or when an import asks for it.
 *
 * An import cannot wait for a promise. In a worker a request may be synchronous, so it does not have to.
 */

/** @import { Assets } from "./assets.js" */
/** @import { Site } from "./protocol.js" */

/** When the background's turn comes: what the visitor waits for goes first. */
const PAUSE_MS = 3000;

export class Late {
  #site;
  #assets;
  #lay;
  /** The site's files that come late. @type {string[]} */
  paths = [];
  #here = false;
  /** @type {Promise<void> | undefined} */
  #loading;

  /**
   * @param {Site} site
   * @param {Assets} assets
   * @param {(path: string, bytes: Uint8Array) => void} lay puts one of the files where Python finds it
   */
  constructor(site, assets, lay) {
    this.#site = site;
    this.#assets = assets;
    this.#lay = lay;
  }

  /** Start their downloads, before Python runs. */
  prefetch() {
    this.#assets.prefetch(this.paths);
  }

  /** Fetch them now, once Python runs. @throws {AssetError} */
  load() {
    if (this.#here) return Promise.resolve();
    this.#loading ??= this.#load();
    this.#loading.catch(() => (this.#loading = undefined)); // who asks later tries again
    return this.#loading;
  }

  /** Fetch them when the visitor has what the page is for. */
  loadInBackground() {
    if (this.paths.length && !this.#loading) setTimeout(() => this.load().catch(() => {}), PAUSE_MS);
  }

  async #load() {
    const files = await Promise.all(this.paths.map(async (path) => /** @type {const} */ ([path, await this.#assets.bytes(path)])));
    this.#put(files);
  }

  /**
   * For an import that cannot wait (onnxlet/late.py): the same, synchronously.
   * @param {(bytes: Uint8Array) => string} digest sha256, hexadecimal
   * @returns {string} why it failed; "" where it did not
   */
  now(digest) {
    if (this.#here) return "";
    try {
      this.#put(this.paths.map((path) => [path, this.#fetchTwice(path, digest)]));
      return "";
    } catch (error) {
      return String(/** @type {any} */ (error)?.message ?? error);
    }
  }

  /**
   * As Assets does: once more where it failed, past the HTTP cache.
   * @param {string} path
   * @param {(bytes: Uint8Array) => string} digest
   */
  #fetchTwice(path, digest) {
    const url = this.#assets.url(path);
    try {
      return this.#fetchNow(path, url, digest);
    } catch {
      return this.#fetchNow(path, `${url}?again`, digest);
    }
  }

  /**
   * @param {string} path
   * @param {string} url
   * @param {(bytes: Uint8Array) => string} digest
   */
  #fetchNow(path, url, digest) {
    const request = new XMLHttpRequest();
    request.open("GET", url, false);
    request.responseType = "arraybuffer";
    request.send();
    if (request.status !== 200) throw new Error(`${path}: the host answered ${request.status}`);
    const bytes = new Uint8Array(request.response);
    if (digest(bytes) !== this.#site.files[path]?.sha256) throw new Error(`${path}: has other contents than site.json says`);
    return bytes;
  }

  /** @param {(readonly [string, Uint8Array])[]} files */
  #put(files) {
    if (this.#here) return;
    for (const [path, bytes] of files) this.#lay(path, bytes);
    this.#here = true;
  }
}
