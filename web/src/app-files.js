/**
 * What one app brings into Python: its own files in a folder, its packages, and its models where Python cannot wait for them.
 */

import { variantFor } from "./variants.js";

/** @import { Assets } from "./assets.js" */
/** @import { Site, SiteApp } from "./protocol.js" */
/** @import { Python } from "./pyodide-boot.js" */

export class AppFiles {
  #site;
  #app;
  #assets;
  #python;
  #importsPillow = false;
  #files;
  /** @type {Promise<void> | undefined} */
  #pictures;

  /**
   * The downloads begin here.
   * @param {Site} site
   * @param {SiteApp} app
   * @param {Assets} assets
   * @param {Python} python
   * @param {string} folder where they will lie
   */
  constructor(site, app, assets, python, folder) {
    this.#site = site;
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

  /** Lay the app's models beside its files: where Python cannot wait, they have to be there before it asks. */
  async keepModels() {
    const models = Object.entries(this.#app.models).map(async ([name, id]) => {
      const model = this.#site.models[id];
      const variant = model && (variantFor(model, "python") ?? model.variants[0]);
      return variant ? [{ name, data: await this.#assets.model(variant) }] : [];
    });
    this.#python.write(this.folder, (await Promise.all(models)).flat());
  }

  /** The package that decodes pictures: in the background after the start, or when the first picture comes. */
  pictures() {
    const names = this.#app.packages.filter((name) => this.#onlyForPictures(name));
    if (!this.#pictures) this.#python.prefetch(names); // counted among the start's files at once
    this.#pictures ??= names.length ? this.#python.load(names) : Promise.resolve();
    this.#pictures.catch(() => (this.#pictures = undefined)); // a later call tries again
    return this.#pictures;
  }

  /** Whether a file of this group has to be there for the app to start. @param {string} group as site.json names it */
  needs(group) {
    const [kind = "", name = ""] = group.split(/:(.*)/s);
    if (kind === "direct") return false; // without it, Python answers the first call too
    if (kind === "app") return name === this.#app.name;
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
