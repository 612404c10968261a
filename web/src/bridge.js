/**
 * ONNX Runtime Web for one app: chooses backends, starts the downloads, and gives Python its bridge.
 *
 *     const bridge = await createBridge({ site, root, app, backend: "auto", isolated: true, assets, heap });
 *     await host.start(bridge, JSON.stringify(site.apps[0]));
 *     bridge.describe(); // {threads, reason, broken}: broken says why the worker has to be replaced, "" while it has not
 *
 * Nothing here waits for a download, except where ONNX Runtime lives in a second worker (Atomics): a sleeping worker
 * could not show progress.
 */

import { AtomicsClient } from "./atomics.js";
import { AtomicsBridge, Bridge } from "./crossing.js";
import { choose, planWithoutGpu } from "./choose.js";
import { Direct } from "./direct.js";
import { Engine } from "./engine.js";

/** @import { Assets } from "./assets.js" */
/** @import { Plan } from "./choose.js" */
/** @import { Runtimes } from "./engine.js" */
/** @import { Heap } from "./crossing.js" */
/** @import { Backend, BackendChoice, Progress, Site, SiteApp } from "./protocol.js" */

/**
 * @typedef {object} BridgeOptions
 * @property {Site} site
 * @property {string} root absolute URL of the site, ending in "/"
 * @property {string} app its name in site.json
 * @property {BackendChoice} [backend] what the visitor chose
 * @property {boolean} [isolated] false asks for one thread
 * @property {Backend[]} [demoted] answered wrong on this device
 * @property {(p: Progress) => void} [onProgress] for files that another worker loads
 * @property {(direct: Direct) => void} [onDirect] hears of what answers before Python is there, where anything may
 * @property {Assets} assets
 * @property {Heap} heap Python's, once it runs
 * @property {Runtimes} [runtimes] of ONNX Runtime Web, which the apps of a worker share
 */

/**
 * Choose backends, start the downloads of ONNX Runtime Web and of the app's models, and say how Python can wait.
 * @param {BridgeOptions} options
 * @returns {Promise<Bridge | AtomicsBridge>}
 */
export async function createBridge({ site, root, app, backend = "auto", isolated = true, onProgress, onDirect = () => {}, assets, heap, demoted = [], runtimes }) {
  const entry = site.apps.find(({ name }) => name === app);
  if (!entry) throw new Error(`site.json has no app ${app}`);
  const engine = new Engine(site, assets, isolated, runtimes);
  const begin = (/** @type {Plan} */ { waits, files }) => {
    if (waits === "atomics") return;
    engine.prefetch(files);
    if (waits !== "none") onDirect(new Direct({ site, app: entry, assets, engine, files }));
  };
  const sure = planWithoutGpu(site, entry, backend, isolated, demoted);
  if (sure) begin(sure);
  const [plan, tokenizers] = await Promise.all([choose(site, entry, backend, isolated, demoted), loadTokenizers(entry)]);
  if (plan.waits === "atomics") {
    const client = await AtomicsClient.start({ site, root, isolated, files: plan.files, onProgress });
    return Object.assign(new AtomicsBridge(plan, heap, client), { tokenizers });
  }
  if (sure) engine.settle(plan.files);
  else begin(plan);
  return Object.assign(new Bridge(plan, heap, engine), { tokenizers });
}

/**
 * The library stands only in sites that need it.
 * @param {SiteApp} app
 */
async function loadTokenizers(app) {
  if (!app.tokenizers) return null;
  const { Tokenizers } = await import("./tokenizers.js");
  return new Tokenizers();
}
