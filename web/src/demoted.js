/**
 * Backends that answered wrong on this device, as the visitor's own check found (verification.py). The page does without
 * them from then on, in later visits too; another build of the site starts with a clean slate.
 */

/** @import { Backend, Site } from "./protocol.js" */

/** @typedef {{why: string, time: number}} Fault when in ms since 1970 */

export class Demoted {
  #key;
  #build;
  /** @type {Partial<Record<Backend, Fault>>} */
  #faults = {};

  /**
   * @param {Site} site
   * @param {URL} root
   * @param {string} app
   */
  constructor(site, root, app) {
    this.#key = `onnxlet:demoted:${root.pathname}:${app}`;
    this.#build = site.build.id;
    try {
      const { build, faults } = JSON.parse(localStorage.getItem(this.#key) ?? "{}");
      if (build === this.#build) this.#faults = faults;
    } catch {
      // no storage, or not ours: what is found out holds for this visit
    }
  }

  /** @returns {Backend[]} */
  get backends() {
    return /** @type {Backend[]} */ (Object.keys(this.#faults));
  }

  /** @param {Backend} backend @returns {Fault | undefined} */
  fault(backend) {
    return this.#faults[backend];
  }

  /** @param {Backend} backend @param {string} why */
  add(backend, why) {
    this.#faults[backend] = { why, time: Date.now() };
    this.#save();
  }

  /** Trust a backend again. @param {Backend} backend */
  remove(backend) {
    delete this.#faults[backend];
    this.#save();
  }

  #save() {
    try {
      localStorage.setItem(this.#key, JSON.stringify({ build: this.#build, faults: this.#faults }));
    } catch {
      // a private window may refuse
    }
  }
}
