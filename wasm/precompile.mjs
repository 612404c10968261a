// Runs start.py and precompile.py in the Pyodide that the page will run, so that bytecode and modules are the page's own, on
// any host. Usage: node precompile.mjs PYODIDE_FOLDER WORK_FOLDER. In WORK_FOLDER lie numpy.whl and onnxlet.whl, where the
// modules of a start are wanted (modules.json then has them), and jobs.json, for precompile.py.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pyodideFolder = "", work = ""] = process.argv.slice(2).map((path) => resolve(path));
const { loadPyodide } = await import(pathToFileURL(`${pyodideFolder}/pyodide.mjs`).href);
const pyodide = await loadPyodide({ indexURL: pyodideFolder, env: { PYTHONNODEBUGRANGES: "1" } });
const run = (/** @type {string} */ name) =>
  pyodide.runPython(readFileSync(new URL(name, import.meta.url), "utf8"), { filename: name });

const sitePackages = pyodide.runPython("import site; site.getsitepackages()[0]");
if (existsSync(`${work}/numpy.whl`)) {
  for (const name of ["numpy", "onnxlet"]) {
    const wheel = new Uint8Array(readFileSync(`${work}/${name}.whl`));
    pyodide.unpackArchive(wheel, "wheel", { extractDir: sitePackages });
  }
  run("start.py");
  writeFileSync(`${work}/modules.json`, pyodide.runPython("import sys, json; json.dumps(sorted(sys.modules))"));
}
pyodide.FS.mkdirTree("/jobs");
pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: work }, "/jobs");
run("precompile.py");
