/** The nodes of a model: sorted by any column, filtered by text, a page at a time, because a model may have thousands. */

import { button, h } from "../dom.js";
import { count, duration, named, number, t } from "../words.js";

/** @import { Measurement, ModelNode, ModelValue } from "../protocol.js" */
/** @typedef {Record<string, {snr_db: number | null, float: boolean}>} Errors by node; null is equal */
/** @typedef {"order" | "node" | "operator" | "where" | "output" | "time" | "error"} Column */

const PAGE = 50;
/** Columns that are read from the largest down, so one press shows what matters. @type {Set<Column>} */
const DOWN = new Set(["time"]);
/** @type {Record<string, string>} */
const backends = { WebGpuExecutionProvider: "webgpu", CPUExecutionProvider: "wasm", NumpyExecutionProvider: "python" };

export class NodeTable {
  #look;
  /** @type {ModelNode[]} */
  #nodes = [];
  /** @type {Errors | null} */
  #errors = null;
  /** @type {Measurement | null} */
  #found = null;
  /** @type {Column} */
  #by = "order";
  #down = false;
  #page = 0;
  /** The node that is looked at. */
  #chosen = "";
  #filter = h("input", { class: "entry", type: "search", placeholder: t("filter_nodes"), "aria-label": t("filter_nodes"), oninput: () => this.#turn(0) });
  #head = h("tr");
  #body = h("tbody");
  #pages = h("div", { class: "row node-pages" });

  /** @param {(node: ModelNode) => void} look - shows what a node gave */
  constructor(look) {
    this.#look = look;
    this.element = h("div", { class: "stack" }, this.#filter,
      h("div", { class: "grid node-grid", tabindex: 0 }, h("table", { class: "node-table" }, h("thead", {}, this.#head), this.#body)),
      this.#pages);
  }

  /** @param {ModelNode[]} nodes @param {Errors | null} errors */
  show(nodes, errors) {
    this.#nodes = nodes;
    this.#errors = errors;
    this.#found = null;
    this.#chosen = "";
    this.#by = "order";
    this.#down = false;
    this.#filter.value = "";
    this.#turn(0);
  }

  /** @param {Measurement} found */
  measured(found) {
    this.#found = found;
    this.#sort("time");
  }

  /** @param {number} page */
  #turn(page) {
    this.#page = page;
    this.#draw();
  }

  /** @param {Column} by */
  #sort(by) {
    this.#down = this.#by === by ? !this.#down : DOWN.has(by);
    this.#by = by;
    this.#turn(0);
  }

  #draw() {
    /** @type {[Column, string, boolean][]} */
    const columns = [
      ["order", "#", true], ["node", t("node"), false], ["operator", t("operator"), false], ["where", t("where"), false],
    ];
    if (this.#found) columns.push(["time", t("time"), true]);
    if (this.#errors) columns.push(["error", t("snr"), true]);
    columns.push(["output", t("output_shape"), false]);
    this.#head.replaceChildren(...columns.map(([column, name, right]) =>
      h("th", { scope: "col", class: right ? "right" : null, "aria-sort": this.#by === column ? (this.#down ? "descending" : "ascending") : null },
        h("button", { type: "button", class: "sort", onclick: () => this.#sort(column) }, name))));
    const rows = this.#rows();
    const pages = Math.max(1, Math.ceil(rows.length / PAGE));
    this.#page = Math.min(this.#page, pages - 1);
    const shown = rows.slice(this.#page * PAGE, (this.#page + 1) * PAGE);
    this.#body.replaceChildren(...shown.map(([node, order]) => this.#row(node, order)));
    const turn = (/** @type {number} */ step, /** @type {string} */ label) => {
      const to = this.#page + step;
      return button({ class: "button small", disabled: to < 0 || to >= pages, onclick: () => this.#turn(to) }, label);
    };
    const place = pages > 1 ? t("page_of", { page: this.#page + 1, pages }) : "";
    this.#pages.replaceChildren(h("span", { class: "fine" }, [count("nodes", rows.length), place].filter(Boolean).join(", ")),
      ...(pages > 1 ? [turn(-1, t("page_before")), turn(1, t("page_next"))] : []));
  }

  /** Those that the filter leaves, in order, each with its place in the graph. @returns {[ModelNode, number][]} */
  #rows() {
    const wanted = this.#filter.value.trim().toLowerCase();
    /** @type {[ModelNode, number][]} */
    const all = this.#nodes.map((node, i) => [node, i]);
    const rows = all.filter(([{ node, operator, outputs }]) =>
      !wanted || [node, operator, ...outputs.map(({ name }) => name)].some((text) => text.toLowerCase().includes(wanted)));
    const key = (/** @type {[ModelNode, number]} */ [node, order]) => this.#key(node, order);
    const sign = this.#down ? -1 : 1;
    return rows.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      const compared = typeof x === "string" ? x.localeCompare(String(y)) : x - Number(y);
      return compared * sign || a[1] - b[1];
    });
  }

  /** @param {ModelNode} node @param {number} order @returns {string | number} */
  #key(node, order) {
    if (this.#by === "node") return node.node;
    if (this.#by === "operator") return node.operator;
    if (this.#by === "where") return where(node.provider);
    if (this.#by === "output") return this.#size(node);
    if (this.#by === "time") return this.#found?.times[node.node]?.ms ?? -1;
    if (this.#by === "error") return this.#decibels(node) ?? Number.MAX_VALUE;
    return order;
  }

  /** @param {ModelNode} node */
  #size(node) {
    return node.outputs.reduce((sum, { name }) => sum + (this.#found?.values[name]?.shape ?? []).reduce((size, dim) => size * Number(dim), 1), 0);
  }

  /** @param {ModelNode} node @returns {number | null} null: nothing is known */
  #decibels(node) {
    const found = this.#errors?.[node.node];
    return found ? (found.snr_db ?? Number.MAX_SAFE_INTEGER) : null;
  }

  /** @param {ModelNode} node @param {number} order */
  #row(node, order) {
    const time = this.#found?.times[node.node];
    const error = this.#errors?.[node.node];
    const name = h("button", { type: "button", class: "node-name mono", "aria-pressed": String(this.#chosen === node.node), onclick: () => this.#choose(node) }, node.node);
    return h("tr", { "data-node": node.node, class: this.#chosen === node.node ? "chosen" : null },
      h("td", { class: "right fine" }, number(order + 1)),
      h("td", {}, name), h("td", {}, node.operator), h("td", {}, where(node.provider)),
      this.#found && h("td", { class: "right" }, time ? duration(time.ms) : h("span", { class: "fine", title: t("no_time") }, "–")),
      this.#errors && h("td", { class: "right" }, error ? decibels(error) : "–"),
      h("td", { class: "mono" }, node.outputs.map((output) => shapeText(this.#found?.values[output.name] ?? output)).join("; ")));
  }

  /** @param {ModelNode} node */
  #choose(node) {
    this.#chosen = node.node;
    for (const row of this.#body.querySelectorAll("tr")) {
      const chosen = row.getAttribute("data-node") === node.node;
      row.classList.toggle("chosen", chosen);
      row.querySelector(".node-name")?.setAttribute("aria-pressed", String(chosen));
    }
    this.#look(node);
  }
}

/** @param {string} provider */
function where(provider) {
  return named("backend", backends[provider] ?? provider);
}

/** Such as "float32 1 × 3 × 8"; what nobody knows is a question mark. @param {Omit<ModelValue, "name">} value */
function shapeText({ type, shape }) {
  const dims = shape === null ? "?" : shape.map((dim) => dim ?? "?").join(" × ") || t("scalar");
  return `${type || "?"} ${dims}`;
}

/** @param {Errors[string]} error */
function decibels({ snr_db, float }) {
  const text = snr_db === null ? t("equal") : `${number(snr_db, { maximumFractionDigits: 0 })} dB`;
  return float ? `${text} (${t("kept_float")})` : text;
}
