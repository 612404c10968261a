/**
 * Starts Python: Pyodide from checked files, and the packages that every app needs. What an app brings is in app-files.js.
 *
 * Every download has begun before Pyodide's own code runs, and everything that Pyodide fetches comes out of them (seam.js).
 * The packages of site.json are laid into site-packages before the interpreter starts: loadPackage would load every
 * extension module of numpy, of which `import numpy` needs two, and it is silent about a wheel that is not one.
 */

import { gather } from "./gather.js";
import { Late } from "./late.js";
import { mark } from "./marks.js";
import { unpack } from "./pack.js";
import { reasonAgainst, thaw } from "./snapshot.js";

/** @import { PyodideAPI } from "pyodide" */
/** @import { Assets } from "./assets.js" */
/** @import { PythonStart, Site } from "./protocol.js" */

/** Where the files of the first app lie: its working directory, which is on sys.path. */
export const APP = "/app";
/** So long may Python, once it could start, wait for what is quick: from then on it holds the thread for longer. */
const PATIENCE_MS = 300;

export class Python {
  #site;
  #assets;
  #failed;
  /** @type {PyodideAPI | undefined} */
  #pyodide;
  /** @type {Promise<PyodideAPI> | undefined} */
  #booting;
  /** @type {Promise<unknown>} */
  #loads = Promise.resolve();
  /** What takes this thread first. @type {Promise<unknown>} */
  #before = Promise.resolve();
  /** How Python started, once it has. @type {PythonStart} */
  began;

  /**
   * @param {Site} site
   * @param {Assets} assets
   * @param {() => Promise<never>} failed gives a promise that rejects when one of the fetches that Pyodide makes itself fails
   */
  constructor(site, assets, failed) {
    this.#site = site;
    this.#assets = assets;
    this.#failed = failed;
    const against = reasonAgainst(site);
    this.began = { snapshot: against === "", why: against };
    this.late = new Late(site, assets, (path, bytes) => this.#layLate(path, bytes));
    const { snapshot, extensions = {}, rest } = site.python;
    if (rest) this.late.paths.push(rest);
    if (against === "" && snapshot) {
      assets.prefetch([snapshot.file]);
      for (const path of Object.values(extensions)) assets.wasm(path).catch(() => {}); // seen by thaw()
      this.late.paths.push(...this.#first);
    } else assets.prefetch([...this.#first, ...Object.values(extensions)]);
  }

  /** Pyodide, once boot() is done. */
  get pyodide() {
    if (!this.#pyodide) throw new Error("Python has not started");
    return this.#pyodide;
  }

  /** Python's memory as it is now: it moves when it grows. @returns {Uint8Array} */
  get heap() {
    return /** @type {any} */ (this.pyodide)._module.HEAPU8;
  }

  /**
   * Start the interpreter; later, what came of that.
   * @param {Promise<unknown>} [before] what takes this thread before Python does, if it can in a moment
   * @throws {AssetError}
   */
  boot(before = Promise.resolve()) {
    return (this.#booting ??= this.#boot(before));
  }

  /** @param {Promise<unknown>} before */
  async #boot(before) {
    this.#before = before;
    this.#assets.wasm(this.#file("pyodide.asm.wasm")).catch(() => {}); // whoever starts Python sees it
    if (this.began.snapshot) {
      try {
        this.#pyodide = await this.#thaw();
      } catch (error) {
        const why = `the snapshot could not be used: ${/** @type {any} */ (error)?.message ?? error}`;
        console.warn(`Python starts the plain way; ${why}`);
        this.began = { snapshot: false, why };
        this.late.paths.splice(0, Infinity, ...[this.#site.python.rest ?? []].flat()); // the others come first again
      }
    }
    this.#pyodide ??= await this.#bootPlain();
    if (this.#site.python.rest) this.#expectTheRest(this.#pyodide);
    return this.#pyodide;
  }

  async #thaw() {
    const { snapshot, extensions = {} } = this.#site.python;
    if (!snapshot) throw new Error("the site has no snapshot");
    const assets = this.#assets;
    const file = assets.bytes(snapshot.file);
    file.catch(() => {}); // thaw() sees it
    const failed = this.#failed();
    const { loadPyodide, createPyodideModule, version } = await this.#modules();
    const thawing = thaw({
      loadPyodide,
      createPyodideModule,
      options: this.#options(),
      snapshot: file,
      extensions: Object.fromEntries(Object.entries(extensions).map(([name, path]) => [name, assets.wasm(path)])),
      of: snapshot.of,
      version,
    });
    return Promise.race([thawing, failed]);
  }

  /** Pyodide's own code, when its turn on this thread has come. */
  async #modules() {
    const [{ loadPyodide, version }, { default: createPyodideModule }] = await Promise.all([
      this.#assets.module(this.#file("pyodide.js")),
      this.#assets.module(this.#file("pyodide.asm.js")),
    ]);
    mark("modules");
    const wasm = this.#assets.wasm(this.#file("pyodide.asm.wasm"));
    const patience = wasm.then(() => new Promise((resolve) => setTimeout(resolve, PATIENCE_MS)));
    await Promise.race([this.#before, patience]).catch(() => {}); // whoever starts Python sees what failed
    return { loadPyodide, createPyodideModule, version };
  }

  /** What loadPyodide is told in any case. */
  #options() {
    const folder = this.#assets.url(this.#site.python.folder);
    const printed = gather((_, text) => console.log(text.trimEnd()));
    return {
      indexURL: folder,
      packageBaseUrl: folder,
      lockFileContents: this.#site.python.lock,
      env: { HOME: APP },
      stdout: (/** @type {string} */ line) => printed.say("out", `${line}\n`),
    };
  }

  async #bootPlain() {
    const site = this.#site;
    const failed = this.#failed();
    const wasm = this.#assets.wasm(this.#file("pyodide.asm.wasm"));
    const wheels = Promise.all(site.python.packages.map((name) => this.#package(name)));
    const extensions = this.#extensions();
    const files = Promise.all([wasm, wheels, extensions]);
    files.catch(() => {}); // seen below, or hidden by a failure that came first
    const { loadPyodide, createPyodideModule } = await this.#modules();
    /** @type {Package[]} packages for which Python's own unpacking is needed */
    const packed = [];
    const starting = loadPyodide({
      ...this.#options(),
      stdLibURL: this.#assets.url(this.#file("python_stdlib.zip")),
      createPyodideModule,
      fsInit: async (/** @type {FileSystem} */ fs, /** @type {{sitePackages: string}} */ { sitePackages }) => {
        for (const wheel of await wheels) {
          if (wheel.files) writeFiles(fs, sitePackages, wheel.files);
          else packed.push(wheel);
        }
        writeFiles(fs, sitePackages, await extensions);
      },
    });
    starting.catch(() => {}); // it follows from a file that failed, which is what is told
    // A file that fails inside Pyodide's own fetches leaves loadPyodide pending for ever.
    /** @type {PyodideAPI} */
    const pyodide = await Promise.race([files.then(() => starting), failed]);
    for (const { bytes } of packed) pyodide.unpackArchive(bytes, "wheel", { extractDir: sitePackagesOf(pyodide) });
    return pyodide;
  }

  /**
   * Install packages of the lock, with what they depend on; one list after the other.
   * @param {string[]} names
   * @returns {Promise<void>}
   * @throws {Error} one of them is not installed afterwards: loadPackage itself would only write to the console
   */
  load(names) {
    const loading = this.#loads.then(() => this.#load(names));
    this.#loads = loading.catch(() => {});
    return loading;
  }

  /** @param {string[]} names */
  async #load(names) {
    const pyodide = this.pyodide;
    /** @type {string[]} */
    const said = [];
    const quiet = { messageCallback: () => {}, errorCallback: (/** @type {string} */ line) => said.push(line) };
    // The base packages are in place already; to loadPackage they are not, so it is told.
    const loaded = /** @type {Record<string, string>} */ (pyodide.loadedPackages);
    for (const name of this.#site.python.packages) loaded[name] ??= "default channel";
    await Promise.race([pyodide.loadPackage(names, quiet), this.#failed()]);
    const missing = names.filter((name) => !(this.#entry(name).name in loaded) && !(name in loaded));
    if (missing.length) throw new Error(`Python packages not installed: ${missing.join(", ")}. ${said.join(" ")}`);
  }

  /** What a plain start lays before Python runs. */
  get #first() {
    return [this.#file("python_stdlib.zip"), ...this.#wheels(this.#site.python.packages)];
  }

  /**
   * Put a file that comes late where Python finds it.
   * @param {string} path
   * @param {Uint8Array} bytes
   */
  #layLate(path, bytes) {
    if (path === this.#site.python.rest) return this.write(this.#library, unpack(bytes));
    if (path.endsWith(".pack")) return this.write(`${this.#library}/site-packages`, unpack(bytes));
    const [major, minor] = /** @type {any} */ (this.pyodide)._module.API.pyVersionTuple;
    this.pyodide.FS.writeFile(`/lib/python${major}${minor}.zip`, bytes);
  }

  /** Let imports find what comes late. @param {PyodideAPI} pyodide */
  #expectTheRest(pyodide) {
    const late = pyodide.pyimport("onnxlet.late");
    late.install(this.began.snapshot, this.#library, (/** @type {(bytes: Uint8Array) => string} */ digest) => this.late.now(digest));
    late.destroy();
  }

  /** Start the downloads of packages. @param {string[]} names */
  prefetch(names) {
    this.#assets.prefetch(this.#wheels(names));
  }

  /**
   * Lay files into a folder.
   * @param {string} folder
   * @param {{name: string, data: Uint8Array}[]} files with "/" between folders
   */
  write(folder, files) {
    writeFiles(this.pyodide.FS, folder, files);
  }

  /**
   * @param {string} name
   * @returns {Promise<Package>}
   */
  async #package(name) {
    const path = this.#wheelPath(name);
    const bytes = await this.#assets.bytes(path);
    return { bytes, files: path.endsWith(".pack") ? unpack(bytes) : null };
  }

  /** The extension modules that `import numpy` loads, as files for site-packages. */
  #extensions() {
    const entries = Object.entries(this.#site.python.extensions ?? {});
    return Promise.all(entries.map(async ([name, path]) => ({ name, data: await this.#assets.bytes(path) })));
  }

  /** The folder that holds site-packages: late modules of the standard library lie in it, and it is on sys.path too. */
  get #library() {
    const { python = "" } = this.#site.python.lock.info;
    return `/lib/python${python.split(".").slice(0, 2).join(".")}`;
  }

  /** @param {string[]} names */
  #wheels(names) {
    return names.map((name) => this.#wheelPath(name));
  }

  /** @param {string} name */
  #wheelPath(name) {
    const url = new URL(this.#entry(name).file_name, this.#assets.url(this.#site.python.folder));
    const path = this.#assets.pathOf(url);
    if (path === null) throw new Error(`site.json: package ${name}: ${url} is not among the site's files`);
    return path;
  }

  /** @param {string} name */
  #entry(name) {
    const entry = this.#site.python.lock.packages[name.toLowerCase()];
    if (!entry) throw new Error(`site.json: python.lock has no package ${name}`);
    return entry;
  }

  /** @param {string} name of a file of Pyodide's */
  #file(name) {
    return this.#site.python.folder + name;
  }
}

/** @typedef {{bytes: Uint8Array, files: {name: string, data: Uint8Array}[] | null}} Package */
/** @typedef {{mkdirTree(path: string): void, writeFile(path: string, data: Uint8Array, options?: object): void}} FileSystem */

/**
 * @param {FileSystem} fs
 * @param {string} folder
 * @param {{name: string, data: Uint8Array}[]} files with "/" between folders
 */
function writeFiles(fs, folder, files) {
  const made = new Set();
  for (const { name, data } of files) {
    const path = `${folder}/${name}`;
    const parent = path.slice(0, path.lastIndexOf("/"));
    if (!made.has(parent)) fs.mkdirTree(parent);
    made.add(parent);
    fs.writeFile(path, data, { canOwn: true });
  }
}

/** @param {PyodideAPI} pyodide */
function sitePackagesOf(pyodide) {
  return pyodide.runPython("import site; site.getsitepackages()[0]");
}
