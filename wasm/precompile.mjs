// Runs precompile.py in the Pyodide that the page will run, so that its bytecode is the page's own, on any host.
// Usage: node precompile.mjs PYODIDE_FOLDER WORK_FOLDER; precompile.py says what lies in WORK_FOLDER.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pyodideFolder, workFolder] = process.argv.slice(2).map((path) => resolve(path));
const { loadPyodide } = await import(pathToFileURL(`${pyodideFolder}/pyodide.mjs`).href);
const pyodide = await loadPyodide({ indexURL: pyodideFolder });
pyodide.FS.mkdirTree("/jobs");
pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: workFolder }, "/jobs");
pyodide.runPython(readFileSync(new URL("precompile.py", import.meta.url), "utf8"), { filename: "precompile.py" });
