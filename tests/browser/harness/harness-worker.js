/** Python with the page's own parts, and a way to run any code in it. Used by tests only. */

import { AppFiles } from "./app-files.js";
import { Assets } from "./assets.js";
import { createBridge } from "./bridge.js";
import { Python } from "./pyodide-boot.js";
import { fetchThrough } from "./seam.js";

const query = new URL(self.location.href).searchParams;
const root = new URL("../../", import.meta.url).href;
const cores = Number(query.get("cores"));
if (cores) Object.defineProperty(navigator, "hardwareConcurrency", { value: cores });
const starting = start();
starting.catch(() => {});

async function start() {
  const site = await (await fetch(new URL("site.json", root))).json();
  const [app] = site.apps;
  const assets = new Assets(site, root);
  const python = new Python(site, assets, fetchThrough(assets));
  const files = new AppFiles(app, assets, python, "/app");
  const heap = () => python.heap;
  const options = { site, root, app: app.name, assets, heap, backend: query.get("backend"), isolated: query.get("isolated") === "1" };
  const [pyodide, bridge] = await Promise.all([python.boot(), createBridge(options)]);
  pyodide.FS.mkdirTree("/app");
  await files.lay();
  const host = pyodide.pyimport("onnxlet.host");
  await host.connect(bridge);
  pyodide.runPython("import os, sys; os.chdir('/app'); sys.path.insert(0, '/app')");
  return { pyodide, bridge, host };
}

const jobs = {
  ready: async () => true,
  python: async ({ pyodide }, { code }) => {
    const value = await pyodide.runPythonAsync(code);
    if (!value?.toJs) return value;
    const plain = value.toJs({ dict_converter: Object.fromEntries });
    value.destroy();
    return plain;
  },
  js: async (scope, { code }) => {
    const names = Object.keys(scope);
    return new (async () => {}).constructor(...names, code)(...names.map((name) => scope[name]));
  },
  put: async ({ pyodide }, { path, data }) => {
    pyodide.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")) || "/");
    pyodide.FS.writeFile(path, decode(data));
  },
  unpack: async ({ pyodide }, { data, folder }) => {
    const extractDir = folder || pyodide.runPython("import site; site.getsitepackages()[0]");
    pyodide.unpackArchive(decode(data), "zip", { extractDir });
  },
};

function decode(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

self.onmessage = async ({ data: { id, op, ...message } }) => {
  try {
    self.postMessage({ id, value: await jobs[op](await starting, message) });
  } catch (error) {
    const python = error?.name === "PythonError"; // whose message is the traceback
    self.postMessage({ id, error: python ? error.message : `${error?.message ?? error}\n${error?.stack ?? ""}` });
  }
};
