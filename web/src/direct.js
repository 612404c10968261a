/**
 * Answers before Python is there: functions that the build has folded into graphs (site.json's `direct`).
 *
 * A chain of three runs on the worker's own ONNX Runtime: one graph makes the model's feeds of what the form gives, the
 * model's session is the one that Python takes over, another graph makes what is shown. Whatever is not as it should be
 * has no answer here: it waits for Python, which also finds the words for what is wrong with it.
 */

import { tensorOf } from "./direct/inputs.js";
import { shown } from "./direct/outputs.js";

/** @import { Assets } from "./assets.js" */
/** @import { Files } from "./choose.js" */
/** @import { Engine } from "./engine.js" */
/** @import { Answer, DirectFunction, FunctionSchema, Site, SiteApp, WireValue } from "./protocol.js" */
/** @import { RawTensor } from "./tensors.js" */

/** @typedef {{pre: number, model: number, post: number | null, feeds: string[]}} Chain sessions, and the names of the model's inputs */

export class Direct {
  #site;
  #assets;
  #engine;
  /** By function. @type {Map<string, {schema: FunctionSchema, direct: DirectFunction, chain: Promise<Chain>}>} */
  #functions = new Map();

  /**
   * The sessions are made at once.
   * @param {{site: Site, app: SiteApp, assets: Assets, engine: Engine, files: Record<string, Files>}} options files: what each
   *   model loads, by id
   */
  constructor({ site, app, assets, engine, files }) {
    this.#site = site;
    this.#assets = assets;
    this.#engine = engine;
    for (const schema of app.functions) {
      const { direct } = schema;
      // The builds with WebGPU lack the kernels for float64 and for texts that the graphs around the model need.
      if (!direct || files[direct.model]?.backend !== "wasm") continue;
      if (site.models[direct.model].faults?.CPUExecutionProvider) continue; // parts of it run in Python
      const chain = this.#open(direct);
      chain.catch(() => {}); // answer() meets the failure
      this.#functions.set(schema.name, { schema, direct, chain });
    }
  }

  /**
   * @param {string} fn
   * @param {(WireValue | null)[]} inputs
   * @param {Uint8Array[]} buffers
   * @returns {Promise<Answer | null>} null: this call waits for Python; never rejects
   */
  async answer(fn, inputs, buffers) {
    const found = this.#functions.get(fn);
    if (!found || inputs.length > found.schema.inputs.length) return null;
    const { schema, direct } = found;
    try {
      const began = performance.now();
      const given = direct.inputs.map((how, i) => tensorOf(how, schema.inputs[i], inputs[i] ?? null, buffers));
      const tensors = named(direct.inputs.map(({ name }) => name), await Promise.all(given));
      const chain = await found.chain;
      const feeds = await this.#run(chain.pre, tensors, chain.feeds);
      const ran = performance.now();
      const fetched = await this.#run(chain.model, feeds, direct.fetches);
      const run_ms = performance.now() - ran;
      const wanted = direct.outputs.flatMap((output) => output.tensors);
      const values = chain.post === null ? fetched : await this.#run(chain.post, fetched, wanted);
      const outputs = direct.outputs.map((output) => shown(output, values));
      return { outputs, buffers: [], timing: { total_ms: performance.now() - began, run_ms, runs: 1 }, direct: true };
    } catch {
      return null;
    }
  }

  /** Wait until answers can be given, or never can. */
  async opened() {
    const made = [...this.#functions.values()].map(async ({ chain }) => {
      const { pre, model, post } = await chain;
      await Promise.all([pre, model, post].map((session) => session !== null && this.#engine.made(session)));
    });
    await Promise.allSettled(made);
  }

  /** Python answers from now on. */
  close() {
    for (const { chain } of this.#functions.values()) {
      chain.then(({ pre, post }) => {
        this.#engine.release(pre);
        if (post !== null) this.#engine.release(post);
      }, () => {});
    }
    this.#functions.clear();
    this.#engine.disown();
  }

  /** @param {DirectFunction} direct @returns {Promise<Chain>} */
  async #open({ pre, model, post }) {
    // Awaited before anything queues at the runtime, where a file that does not come would hold Python's session up.
    const [before, after] = await Promise.all([this.#assets.bytes(pre), post ? this.#assets.bytes(post) : null]);
    return {
      pre: this.#engine.create({ provider: "wasm", options: {} }, [before]),
      post: after && this.#engine.create({ provider: "wasm", options: {} }, [after]),
      model: this.#engine.ahead(model, "wasm"),
      feeds: this.#site.models[model].inputs.map(({ name }) => name),
    };
  }

  /**
   * @param {number} session
   * @param {Record<string, RawTensor>} feeds
   * @param {string[]} fetches
   */
  async #run(session, feeds, fetches) {
    return named(fetches, await this.#engine.run(session, () => feeds, fetches));
  }
}

/** @param {string[]} names @param {RawTensor[]} values @returns {Record<string, RawTensor>} */
function named(names, values) {
  return Object.fromEntries(names.map((name, i) => [name, values[i]]));
}
