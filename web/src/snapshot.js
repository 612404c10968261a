/**
 * Starts Python from a snapshot of its memory that the build has made (wasm/snapshot/make.js): numpy and the core are imported
 * in it. Nothing is unpacked, linked or imported then; memory is filled, and the extension modules are put where they lay.
 *
 * The one file of the page that leans on private parts of the pinned Pyodide. Whatever is not as the snapshot expects is an
 * error, after which pyodide-boot.js starts Python the plain way, with nothing left of the attempt.
 */

import { read } from "./snapshot-file.js";

/** @import { PyodideAPI } from "pyodide" */
/** @import { Site } from "./protocol.js" */
/** @import { Facts } from "./snapshot-file.js" */

/**
 * Why this browser cannot use the snapshot; "" where it may try. JSPI is baked into the snapshot.
 * @param {Site} site
 */
export function reasonAgainst(site) {
  if (!site.python.snapshot) return "the site has no snapshot";
  const { Suspending, promising } = /** @type {any} */ (WebAssembly);
  if (typeof Suspending !== "function" || typeof promising !== "function") return "the browser has no JSPI";
  return "";
}

/**
 * @typedef {object} Thawing
 * @property {(options: any) => Promise<PyodideAPI>} loadPyodide
 * @property {(settings: any) => Promise<any>} createPyodideModule
 * @property {Record<string, unknown>} options for loadPyodide
 * @property {Promise<Uint8Array<ArrayBuffer>>} snapshot the file
 * @property {Record<string, Promise<WebAssembly.Module>>} extensions by path in site-packages
 * @property {string} of what site.json says that the snapshot was made of
 * @property {string} version of the Pyodide that runs
 */

/**
 * @param {Thawing} given
 * @returns {Promise<PyodideAPI>}
 * @throws {Error} why Python did not start from the snapshot
 */
export async function thaw({ loadPyodide, createPyodideModule, options, snapshot, extensions, of, version }) {
  const opened = snapshot.then((file) => {
    const { facts, apply } = read(file);
    if (facts.pyodide !== version) throw new Error(`it was made for Pyodide ${facts.pyodide}, not ${version}`);
    if (facts.of !== of) throw new Error("it was made of other files");
    return { facts, apply };
  });
  opened.catch(() => {}); // seen in revived(), or hidden by a failure that came first
  /** @type {(error: unknown) => void} */
  let fail = () => {};
  /** @type {Promise<never>} */
  const failed = new Promise((_, reject) => (fail = reject));
  const revived = async (/** @type {any} */ settings) => {
    try {
      return await revive(createPyodideModule, settings, opened, extensions);
    } catch (error) {
      fail(error);
      throw error;
    }
  };
  const without = withoutLibrary();
  try {
    const starting = loadPyodide({
      ...options,
      stdLibURL: without.url,
      packages: [],
      _loadSnapshot: new Uint8Array(64), // Pyodide's own restoring is replaced; this is the sign that there is one
      createPyodideModule: revived,
    });
    starting.catch(() => {}); // what failed first is told
    const pyodide = await Promise.race([starting, failed]);
    wake(pyodide);
    return pyodide;
  } finally {
    without.end();
  }
}

/**
 * Pyodide fetches a standard library whatever it restores; ours comes late (late.js), so it gets an empty one.
 */
function withoutLibrary() {
  const url = "https://onnxlet.invalid/nothing";
  const fetchAll = self.fetch;
  self.fetch = (input, init) => (String(input) === url ? Promise.resolve(new Response(new Uint8Array(0))) : fetchAll(input, init));
  return { url, end: () => void (self.fetch = fetchAll) };
}

/**
 * An instance of Pyodide's WebAssembly in the state of the snapshot.
 * @param {(settings: any) => Promise<any>} createPyodideModule
 * @param {any} settings Pyodide's
 * @param {Promise<{facts: Facts, apply: ReturnType<typeof read>["apply"]}>} opened
 * @param {Record<string, Promise<WebAssembly.Module>>} extensions
 */
async function revive(createPyodideModule, settings, opened, extensions) {
  /** @type {any} */
  let imports;
  const { facts, apply } = await opened;
  const instantiate = settings.instantiateWasm;
  settings.noInitialRun = true;
  delete settings.INITIAL_MEMORY; // Pyodide took it from the dummy
  settings.instantiateWasm = (/** @type {any} */ given, /** @type {(...made: any[]) => void} */ done) =>
    instantiate(given, (/** @type {any[]} */ ...made) => {
      imports = given;
      done(...made);
    });
  const module = await createPyodideModule(settings);
  if (!imports) throw new Error("Pyodide did not instantiate its WebAssembly as expected");
  const table = module.wasmTable;
  if (table.length !== facts.table.before) {
    throw new Error(`the function table has ${table.length} entries, the snapshot expects ${facts.table.before}`);
  }
  const used = module.HEAPU32[module._emscripten_get_sbrk_ptr() >> 2];
  if (module.HEAPU8.length < facts.heapBytes) module.growMemory(facts.heapBytes);
  if (module.HEAPU8.length < facts.heapBytes) throw new Error("there is not enough memory");
  table.grow(facts.table.after - table.length);
  const libraries = await link(module, imports, facts, extensions);
  for (const [name, value] of facts.got) {
    const entry = (module.GOT[name] ??= new WebAssembly.Global({ value: "i32", mutable: true }, -1));
    entry.value = value;
    entry.required = true;
  }
  for (const [slot, of, name] of facts.slots) {
    const value = of === "" ? imports.env[name] : libraries[of]?.[name];
    if (typeof value !== "function") throw new Error(`nothing exports ${name}, which the snapshot has in its function table`);
    table.set(slot, value);
  }
  apply(module.HEAPU8, used);
  module.stackRestore(facts.stack);
  module.FS.unlink(`/lib/python${module.API.pyVersionTuple.slice(0, 2).join("")}.zip`);
  module.API.restoreSnapshot = () => facts.config;
  return module;
}

/**
 * Instantiate the extension modules where the snapshot has them. Their data and what their constructors did are in its memory.
 * @param {any} module
 * @param {any} imports
 * @param {Facts} facts
 * @param {Record<string, Promise<WebAssembly.Module>>} extensions
 */
async function link(module, imports, facts, extensions) {
  /** @type {Record<string, Record<string, any>>} */
  const exports = {};
  for (const { name, handle, memory, table, global, refcount } of facts.libraries) {
    const path = Object.keys(extensions).find((path) => name.endsWith(`/${path}`));
    const compiled = path && (await extensions[path]);
    if (!compiled) throw new Error(`the site has no ${name}, which the snapshot needs`);
    /** @type {Record<string, any>} */
    let own = {};
    /** @type {Record<string, (...given: any[]) => any>} */
    const later = {};
    const env = new Proxy({}, {
      get(_, /** @type {string} */ key) {
        if (key === "__memory_base") return memory;
        if (key === "__table_base") return table;
        const known = imports.env[key];
        if (known && !known.stub) return known;
        return (later[key] ??= (...given) => (known && !known.stub ? known : own[key])(...given));
      },
    });
    const got = new Proxy(new Set(), module.GOTHandler);
    const given = /** @type {any} */ ({ env, wasi_snapshot_preview1: env, "GOT.mem": got, "GOT.func": got });
    const instance = await WebAssembly.instantiate(compiled, given);
    own = module.relocateExports(instance.exports, memory);
    exports[name] = own;
    const library = module.newDSO(name, handle, own);
    library.global = global;
    library.refcount = refcount < 0 ? Infinity : refcount;
  }
  return exports;
}

/** Make it the visitor's Python (onnxlet/snapshot.py). @param {PyodideAPI} pyodide */
function wake(pyodide) {
  const language = (navigator.languages?.[0] ?? "C").replace("-", "_"); // as Emscripten sets it
  const environment = pyodide.toPy({ LANG: `${language}.UTF-8` });
  const snapshot = pyodide.pyimport("onnxlet.snapshot");
  try {
    snapshot.thaw(environment);
  } finally {
    snapshot.destroy();
    environment.destroy();
  }
}
