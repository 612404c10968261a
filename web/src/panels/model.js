/**
 * The model panel: the graph as a picture, a table of its nodes, and what a node gave for the last input.
 *
 * The table is there at once; times, shapes and values come when somebody asks, because they run the model again.
 */

import { showError } from "../display.js";
import { button, fresh, h } from "../dom.js";
import { count, duration, t } from "../words.js";
import { GraphPicture } from "./graph-picture.js";
import { NodeTable } from "./node-table.js";
import { styled } from "./styled.js";
import { showValue } from "./value-view.js";

/** @import { Client } from "../client.js" */
/** @import { Failure, InsideAnswers, InsideQuestion, ModelNode, Placement, Site, SiteApp, Variant } from "../protocol.js" */

/** @typedef {{client: Client, site: Site, app: SiteApp, root: URL}} Options */

/** @param {Options} options */
export async function openModel(options) {
  await styled("model.css");
  return new ModelPanel(options);
}

class ModelPanel {
  #options;
  #picture;
  #table;
  #choice = h("select", { class: "entry mono", "aria-label": t("model_choice"), hidden: true, onchange: () => void this.#show() });
  #measure = button({ class: "button", onclick: () => void this.#run() }, t("measure"));
  #said = h("p", { class: "fine", "aria-live": "polite" });
  #wrong = h("div");
  #detail = h("section", { class: "card node-detail", hidden: true, "aria-live": "polite" });
  /** @type {Placement[]} */
  #placements = [];
  /** Which sessions there are, and which node is where. */
  #told = "";
  /** Which model is asked about, and which of its nodes is looked at: an answer about another that comes late is dropped. */
  #asked = 0;
  #looked = 0;

  /** @param {Options} options */
  constructor(options) {
    this.#options = options;
    this.#picture = new GraphPicture(options.site, options.root, options.client);
    this.#table = new NodeTable((node) => void this.#look(node));
    const [graph, nodes] = [fresh("graph"), fresh("nodes")];
    this.element = h("div", { class: "model" },
      this.#choice, this.#wrong,
      h("section", { class: "card", "aria-labelledby": graph }, h("h2", { id: graph, class: "eyebrow" }, t("graph")), this.#picture.element),
      h("div", { class: "model-nodes" },
        h("section", { class: "card", "aria-labelledby": nodes },
          h("div", { class: "model-head" }, h("h2", { id: nodes, class: "eyebrow" }, t("node_table")), this.#measure),
          this.#said, this.#table.element),
        this.#detail));
    options.client.on("status", ({ state }) => {
      if (state === "starting") this.#forget();
      if (state === "ready" && this.element.checkVisibility()) void this.#refresh();
    });
  }

  shown() {
    void this.#refresh();
  }

  /** Other sessions: another worker, or another version of the app. */
  #forget() {
    this.#asked += 1;
    this.#looked += 1;
    this.#placements = [];
    this.#told = "";
    this.#detail.hidden = true;
    this.#said.textContent = "";
    this.#table.show([], null);
  }

  async #refresh() {
    if (!this.#options.client.ready) return;
    const placements = await this.#answer("placements");
    if (!placements) return;
    const told = JSON.stringify(placements.map(({ session, provider, parts }) => [session, provider, parts]));
    const same = told === this.#told; // a run may have cut the graph
    this.#told = told;
    this.#placements = placements;
    this.#choice.hidden = placements.length < 2;
    if (same) {
      const placement = this.#placement;
      if (placement) this.#picture.show(placement.model, this.#variant(placement)); // where it could not be drawn before
      return this.#able();
    }
    const chosen = this.#choice.value;
    this.#choice.replaceChildren(...placements.map(({ session, model }) => h("option", { value: session, selected: String(session) === chosen }, model)));
    await this.#show();
  }

  get #placement() {
    return this.#placements.find(({ session }) => String(session) === this.#choice.value) ?? this.#placements[0];
  }

  /** Shows the chosen session's model. */
  async #show() {
    const placement = this.#placement;
    this.#asked += 1;
    this.#looked += 1;
    this.#detail.hidden = true;
    this.#said.textContent = "";
    if (!placement) return;
    const variant = this.#variant(placement);
    this.#picture.show(placement.model, variant);
    const [table, errors] = await Promise.all([this.#answer("nodes", placement.session), this.#errors(variant)]);
    if (table) this.#table.show(table.nodes, errors);
    this.#able();
  }

  #able() {
    const ran = this.#placement?.ran ?? false;
    this.#measure.disabled = !ran;
    if (!ran) this.#said.textContent = t("measure_first");
    else if (this.#said.textContent === t("measure_first")) this.#said.textContent = t("measure_note");
  }

  async #run() {
    const placement = this.#placement;
    if (!placement) return;
    this.#measure.disabled = true;
    this.#said.textContent = t("working");
    const asked = this.#asked;
    const found = await this.#answer("measure", placement.session);
    if (asked !== this.#asked) return;
    this.#able();
    if (!found) return void (this.#said.textContent = "");
    this.#table.measured(found);
    const own = found.extra.length ? ` ${t("times_own", { nodes: count("nodes", found.extra.length), time: duration(found.extra.reduce((sum, { ms }) => sum + ms, 0)) })}` : "";
    const queued = Object.values(found.times).some(({ clock }) => clock === "queued") ? ` ${t("times_queued")}` : "";
    this.#said.textContent = t("times_total", { time: duration(found.total_ms), other: duration(found.other_ms) }) + own + queued;
  }

  /** Shows what a node gave for the last input. @param {ModelNode} node */
  async #look(node) {
    const placement = this.#placement;
    if (!placement) return;
    const outputs = h("div", { class: "stack" });
    this.#detail.hidden = false;
    this.#detail.setAttribute("aria-busy", "true");
    const where = [node.domain && `${node.domain}.`, node.operator].filter(Boolean).join("");
    const inputs = node.inputs.length > 0 ? h("p", { class: "fine" }, t("node_inputs", { names: node.inputs.join(", ") })) : "";
    this.#detail.replaceChildren(h("h2", {}, node.node), h("p", { class: "fine" }, where), inputs, outputs);
    this.#detail.scrollIntoView({ block: "nearest", behavior: "instant" });
    const late = (this.#looked += 1);
    for (const { name } of node.outputs) {
      outputs.append(h("h3", { class: "mono" }, name));
      const found = placement.ran ? await this.#options.client.inside("value", placement.session, name) : null;
      if (late !== this.#looked) return;
      if (!found) outputs.append(h("p", { class: "fine" }, t("measure_first")));
      else outputs.append("error" in found ? showError(found.error) : showValue(found, name));
    }
    this.#detail.removeAttribute("aria-busy");
  }

  /**
   * @template {InsideQuestion} Q
   * @param {Q} what
   * @param {number} [session]
   * @returns {Promise<InsideAnswers[Q] | null>} null after showing what went wrong
   */
  async #answer(what, session) {
    const late = this.#asked;
    const answer = /** @type {InsideAnswers[Q] | Failure} */ (await this.#options.client.inside(what, session));
    if (late !== this.#asked && what !== "placements") return null;
    const failed = "error" in answer && answer.error.type !== "Stopped" ? answer.error : null;
    this.#wrong.replaceChildren(...(failed ? [showError(failed)] : []));
    return "error" in answer ? null : answer;
  }

  /** The file that runs, as site.json has it. @param {Placement} placement @returns {Variant | null} */
  #variant({ model, variant }) {
    const found = Object.values(this.#options.app.models).map((id) => this.#options.site.models[id]).find((one) => one?.name === model);
    return found?.variants.find(({ name }) => name === variant.name) ?? found?.variants[0] ?? null;
  }

  /** How far each node of a variant is from the original's, where the build has measured it. @param {Variant | null} variant */
  async #errors(variant) {
    if (!variant?.nodes) return null;
    const response = await fetch(new URL(variant.nodes, this.#options.root)).catch(() => null);
    return response?.ok ? /** @type {Record<string, {snr_db: number | null, float: boolean}>} */ (await response.json()) : null;
  }
}
