// Makes a snapshot of Python's memory, with numpy and the core imported; web/src/snapshot.js brings it back.
//
// A module worker in the build's headless browser (py/onnxlet_build/snapshot.py), because what a snapshot holds depends on
// the engine: whether JSPI is there is baked in. It asks Pyodide for its own kind of snapshot and adds what that leaves
// out: where the extension modules lie in memory and in the table of functions. All of this leans on private parts of the
// pinned Pyodide; whatever is not as expected here is an error, and the site ships without a snapshot.

import { loadPyodide } from "./pyodide.js";
import createPyodideModule from "./pyodide.asm.js";
import { unpack } from "./pack.js";
import { write } from "./snapshot-file.js";

const bytesOf = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());

onmessage = async ({ data: order }) => {
  try {
    const snapshot = await make(order);
    postMessage({ snapshot }, [snapshot.buffer]);
  } catch (error) {
    postMessage({ error: String(error?.stack ?? error) });
  }
};

/**
 * @param {{packs: string[], extensions: Record<string, string>, start: string, lock: object, home: string, of: string}} order
 *   files that lie beside this one; extensions by their path in site-packages; `start` is the Python that imports
 */
async function make({ packs, extensions, start, lock, home, of }) {
  const files = (await Promise.all(packs.map(bytesOf))).flatMap(unpack);
  for (const [name, path] of Object.entries(extensions)) files.push({ name, data: await bytesOf(path) });
  const here = new URL("./", import.meta.url).href;
  const common = { indexURL: here, stdLibURL: `${here}python_stdlib.zip`, lockFileContents: lock, packageBaseUrl: here, packages: [] };
  const fresh = await freshInstance(common);
  const seen = {};
  const pyodide = await loadPyodide({
    ...common,
    env: { HOME: home, PYTHONHASHSEED: "0" }, // frozen with the rest: the same input gives the same bytes
    _makeSnapshot: true,
    createPyodideModule: (settings) => watched(settings, seen),
    fsInit: async (fs, { sitePackages }) => {
      for (const { name, data } of files) {
        const path = `${sitePackages}/${name}`;
        fs.mkdirTree(path.slice(0, path.lastIndexOf("/")));
        fs.writeFile(path, data);
      }
    },
  });
  const module = pyodide._module;
  pyodide.runPython(start);
  pyodide.runPython("from onnxlet import snapshot; snapshot.freeze(globals())");
  forgetFiles(module);
  clearFree(module);
  const libraries = librariesOf(module);
  const slots = slotsOf(module, seen, libraries);
  const got = Object.entries(module.GOT).map(([name, { value }]) => [name, value]);
  const changed = got.filter(([name, value]) => fresh.got.get(name) !== value);
  for (const name of Object.keys(pyodide.loadedPackages)) delete pyodide.loadedPackages[name]; // Pyodide refuses otherwise
  const whole = pyodide.makeMemorySnapshot();
  const [, start_at, config_bytes] = new Uint32Array(whole.buffer, 0, 3);
  const config = JSON.parse(new TextDecoder().decode(whole.subarray(48, 48 + config_bytes)));
  const heap = whole.slice(start_at);
  const facts = {
    of,
    pyodide: pyodide.version,
    config,
    libraries,
    slots,
    got: changed,
    table: { before: seen.table, after: module.wasmTable.length },
    heapBytes: heap.length,
    stack: module.stackSave(),
  };
  const words = new BigUint64Array(heap.buffer);
  for (const i of fresh.unsure) fresh.memory[i] = ~words[i]; // never the same, so they are in the file
  return write(facts, heap, fresh.memory);
}

/**
 * What an instance of Pyodide's WebAssembly has in its memory before Python runs: `memory` in words, without its stack and its
 * heap, which restoring clears, and the places at which two instances in different surroundings are `unsure`.
 */
async function freshInstance(common) {
  const instances = [];
  for (const env of [{ HOME: "/a" }, { HOME: "/another/home", TZ: "Asia/Kathmandu", LANG: "eo" }]) {
    const enough = new Error("seen enough");
    const watch = async (settings) => {
      settings.noInitialRun = true;
      instances.push(await createPyodideModule(settings));
      throw enough;
    };
    await loadPyodide({ ...common, env, createPyodideModule: watch }).catch((error) => {
      if (error !== enough) throw error;
    });
  }
  const [memory, other] = instances.map(({ HEAPU8: bytes, _emscripten_stack_get_end: end }) => new BigUint64Array(bytes.slice(0, end() & ~7).buffer));
  const unsure = [...memory.keys()].filter((i) => memory[i] !== other[i]);
  return { memory, unsure, got: new Map(Object.entries(instances[0].GOT).map(([name, { value }]) => [name, value])) };
}

/** Pyodide's own start, and what one cannot ask it afterwards. */
async function watched(settings, seen) {
  const instantiate = settings.instantiateWasm;
  settings.instantiateWasm = (imports, done) =>
    instantiate(imports, (instance, compiled) => {
      seen.imports = imports;
      seen.instance = instance;
      done(instance, compiled);
    });
  const module = await createPyodideModule(settings);
  seen.table = module.wasmTable.length;
  return module;
}

/** dlopen keeps the whole file of each extension module: layout of struct dso in Emscripten's dynlink.c. */
function forgetFiles(module) {
  for (const handle of Object.keys(module.LDSO.loadedLibsByHandle).map(Number)) {
    if (handle === 0) continue;
    const [data, bytes] = module.HEAPU32.subarray((handle + 28) >> 2, (handle + 36) >> 2);
    if (!data) continue;
    module.HEAPU8.fill(0, data, data + bytes);
    module._free(data);
    module.HEAPU32[(handle + 28) >> 2] = 0;
  }
}

/** Zero what is free, in the chunks of Emscripten's dlmalloc and below the stack pointer: nobody reads it, and zeros weigh nothing. */
function clearFree(module) {
  const words = module.HEAPU32;
  const stack = module.stackSave();
  const info = module.stackAlloc(64);
  module._mallinfo(info);
  const arena = words[info >> 2];
  module.stackRestore(stack);
  const end = words[module._emscripten_get_sbrk_ptr() >> 2];
  for (let at = (end - arena + 7) & ~7; at < end - 64; ) {
    const head = words[(at + 4) >> 2];
    const size = head & ~7;
    if (size < 16 || at + size > end) throw new Error(`the allocator's chunks are not as expected at ${at}`);
    if (!(head & 2) && size > 32) module.HEAPU8.fill(0, at + 32, at + size); // its first words link the free list
    at += size;
  }
  module.HEAPU8.fill(0, module._emscripten_stack_get_end(), module.stackSave() - 16);
}

/** Extension modules in the order in which they were loaded. */
function librariesOf(module) {
  const libraries = [];
  for (const [key, library] of Object.entries(module.LDSO.loadedLibsByHandle)) {
    const handle = Number(key);
    if (handle === 0) continue;
    const [memory, , table, slots] = module.HEAPU32.subarray((handle + 12) >> 2, (handle + 28) >> 2);
    const refcount = library.refcount === Infinity ? -1 : library.refcount;
    libraries.push({ name: library.name, handle, memory, table, slots, global: Boolean(library.global), refcount });
  }
  return libraries.sort((a, b) => a.table - b.table);
}

/** Entries of the function table that were set while Python ran and belong to no library, by who exports them. */
function slotsOf(module, { table, imports, instance }, libraries) {
  const named = new Map();
  const note = (names, of) => {
    for (const [name, value] of Object.entries(names)) if (typeof value === "function" && !named.has(value)) named.set(value, [of, name]);
  };
  note(instance.exports, "");
  for (const { handle, name } of libraries) note(module.LDSO.loadedLibsByHandle[handle].exports, name);
  const slots = [];
  for (let i = table; i < module.wasmTable.length; i++) {
    if (libraries.some(({ table, slots }) => i >= table && i < table + slots)) continue;
    const value = module.wasmTable.get(i);
    if (value === null) continue;
    const found = named.get(value);
    if (!found) throw new Error(`slot ${i} of the function table holds a function that nothing exports`);
    slots.push([i, ...found]);
  }
  return slots;
}
