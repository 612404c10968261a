/**
 * What one app brings into Python: its own files in a folder, and its packages.
 */

/** @import { Assets } from "./assets.js" */
/** @import { SiteApp } from "./protocol.js" */
/** @import { Python } from "./pyodide-boot.js" */

export class AppFiles {
  #app;
  #assets;
  #python;
  #importsPillow = false;
  #files;
  /** @type {Promise<void> | undefined} */
  #pictures;

  /** Whether Python can decode pictures by now. */
  decodes = false;

  /**
   * The downloads begin here.
   * @param {SiteApp} app
   * @param {Assets} assets
   * @param {Python} python
   * @param {string} folder where they will lie
   */
  constructor(app, assets, python, folder) {
    this.#app = app;
    this.#assets = assets;
    this.#python = python;
    this.folder = folder;
    this.#files = this.#fetch();
    this.#files.catch(() => {}); // lay() meets the failure
  }

  /** Lay the files, once Python runs, and load the packages that the app imports. @throws {AssetError} */
  async lay() {
    this.#python.write(this.folder, await this.#files);
    const eager = this.#app.packages.filter((name) => !this.#onlyForPictures(name));
    if (eager.length) await this.#python.load(eager);
  }

  /** The package that decodes pictures: in the background after the start, or when the first picture comes. */
  pictures() {
    const names = this.#app.packages.filter((name) => this.#onlyForPictures(name));
    this.#pictures ??= names.length ? this.#python.load(names) : Promise.resolve();
    this.#pictures.then(() => (this.decodes = true), () => (this.#pictures = undefined)); // a later call tries again
    return this.#pictures;
  }

  /** Download it: it counts among the start's files. */
  fetchPictures() {
    this.#python.prefetch(this.#app.packages.filter((name) => this.#onlyForPictures(name)));
  }

  /** Whether a file of this group has to be there for the app to start. @param {string} group as site.json names it */
  needs(group) {
    const [kind = "", name = ""] = group.split(/:(.*)/s);
    if (kind === "direct") return false; // without it, Python answers the first call too
    if (kind === "app") return name === this.#app.name;
    if (kind === "python-snapshot") return false; // there is another way to start
    if (kind === "python-late") return Boolean(this.#app.whole_library);
    if (kind === "model") return Object.values(this.#app.models).includes(name);
    return true;
  }

  /**
   * Pillow is imported by the core when it decodes a picture, and not before: an app that never gets one does not wait for it.
   * @param {string} name
   */
  #onlyForPictures(name) {
    return name.toLowerCase() === "pillow" && !this.#importsPillow;
  }

  async #fetch() {
    const files = await Promise.all(
      Object.entries(this.#app.files).map(async ([name, path]) => ({ name, data: await this.#assets.bytes(path) })),
    );
    const decoder = new TextDecoder();
    this.#importsPillow = files.some(({ name, data }) => name.endsWith(".py") && /\bPIL\b/.test(decoder.decode(data)));
    return files;
  }
}
