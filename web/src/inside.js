/**
 * Inside the model: which node runs where and what crosses between the parts, the time of each node, and a comparison of
 * every value with the operators' definition. Loaded when somebody opens that part of the panel.
 */

import { showError } from "./display.js";
import { button, h } from "./dom.js";
import { bytes, count, duration, loadedFile, named, number, percent, t } from "./words.js";

/** @import { Backend, Failure, Figures, InsideAnswers, InsideQuestion, ModelComparison, NodeDifference, NodeTime, NodeTimes, Placement, Verification } from "./protocol.js" */
/** @import { Child } from "./dom.js" */

/** @typedef {<Q extends InsideQuestion>(what: Q, session?: number) => Promise<InsideAnswers[Q] | Failure>} Ask */

const CROSSING_SHOWN = 6;
/** A part with so few nodes says which without being opened: most often the ones that only Python has. */
const NAMED_NODES = 3;
const backends = /** @type {Record<string, Backend>} */ ({
  WebGpuExecutionProvider: "webgpu",
  CPUExecutionProvider: "wasm",
  NumpyExecutionProvider: "python",
});

export class Inside {
  element = h("div", { class: "inside" });
  #ask;
  #demote;
  /** What was found by the buttons, by session: it outlives the next run. @type {Map<number, HTMLElement>} */
  #found = new Map();

  /**
   * @param {Ask} ask
   * @param {(backend: Backend, why: string) => void} demote - a backend that answered wrong
   */
  constructor(ask, demote) {
    this.#ask = ask;
    this.#demote = demote;
  }

  /** Shows what the sessions are now. */
  async refresh() {
    const placements = await this.#ask("placements");
    if ("error" in placements) return this.element.replaceChildren(showError(placements.error));
    const open = new Set([...this.element.querySelectorAll("details[open]")].map((node) => node.getAttribute("data-part")));
    this.element.replaceChildren(...placements.map((one) => this.#session(one)));
    for (const node of this.element.querySelectorAll("details")) node.open = open.has(node.getAttribute("data-part"));
  }

  /** Another worker has other sessions. */
  clear() {
    this.#found.clear();
    this.element.replaceChildren();
  }

  /** @param {Placement} placement */
  #session(placement) {
    const { session, model, provider, reason, parts, crossing, ran, variant, references } = placement;
    const found = this.#found.get(session) ?? h("div", { class: "inside-found", "aria-live": "polite" });
    this.#found.set(session, found);
    /** @type {HTMLButtonElement[]} */
    const buttons = [];
    const action = (/** @type {string} */ label, /** @type {() => Promise<Child[]>} */ job, can = ran) => {
      const one = button({ disabled: !can, onclick: () => void work(buttons, one, found, job) }, label);
      buttons.push(one);
      return one;
    };
    return h("section", { class: "inside-session", "aria-label": model },
      h("h3", {}, model, " ", h("span", { class: "inside-where" }, where(provider))),
      variant.format && h("p", { class: "fine" }, loadedFile(variant)),
      h("ol", { class: "parts" }, ...parts.map((part, i) => partItem(part, `${session}.${i}`))),
      crossing.length > 0 && h("p", { class: "fine crossing" }, t("crossing", { values: crossed(crossing) })),
      reason && h("details", { class: "fine", "data-part": `${session}.why` }, h("summary", {}, t("why_parts")),
        h("p", { class: "mono reason", dir: "auto" }, reason)),
      h("div", { class: "row" },
        action(t("time_nodes"), async () => [timeTable(await this.#answer("times", session))]),
        action(t("compare_nodes"), async () => [comparison(await this.#answer("compare", session))]),
        references > 0 && action(t("verify"), () => this.#verify(session), true)),
      !ran && h("p", { class: "fine" }, t("run_first")),
      found);
  }

  /** @param {number} session */
  async #verify(session) {
    const found = await this.#answer("verify", session);
    const backend = backends[found.provider];
    if (found.wrong && backend && backend !== "python") this.#demote(backend, found.wrong);
    return [verification(found)];
  }

  /**
   * @template {InsideQuestion} Q
   * @param {Q} what
   * @param {number} session
   * @returns {Promise<InsideAnswers[Q]>}
   */
  async #answer(what, session) {
    const answer = await this.#ask(what, session);
    if ("error" in answer) throw answer.error;
    return answer;
  }
}

/**
 * @param {HTMLButtonElement[]} buttons - none can be pressed meanwhile
 * @param {HTMLButtonElement} pressed
 * @param {HTMLElement} place
 * @param {() => Promise<Child[]>} job
 */
async function work(buttons, pressed, place, job) {
  const able = buttons.filter((one) => !one.disabled);
  for (const one of able) one.disabled = true;
  pressed.classList.add("busy");
  place.setAttribute("aria-busy", "true");
  try {
    place.replaceChildren(.../** @type {Node[]} */ (await job()));
  } catch (error) {
    place.replaceChildren(showError(/** @type {any} */ (error)));
  } finally {
    for (const one of able) one.disabled = false;
    pressed.classList.remove("busy");
    place.removeAttribute("aria-busy");
  }
}

/** @param {string} provider */
function where(provider) {
  return named("backend", backends[provider] ?? provider);
}

/** @param {Placement["parts"][number]} part @param {string} id */
function partItem({ provider, nodes }, id) {
  const few = nodes.length <= NAMED_NODES ? nodes.map(([name, operator]) => operator || name).join(", ") : "";
  const label = [h("span", { class: "part-where" }, where(provider)), " ", h("span", {}, count("nodes", nodes.length)), " ",
    few && h("span", { class: "fine" }, few)];
  const names = nodes.map(([name, operator]) =>
    h("li", {}, h("span", { class: "mono" }, name), operator && operator !== name && h("span", { class: "fine" }, operator)));
  return h("li", { class: "part", "data-where": backends[provider] ?? "" },
    h("details", { "data-part": id }, h("summary", {}, ...label), h("ul", { class: "part-nodes" }, ...names)));
}

/** @param {[string, number][]} crossing */
function crossed(crossing) {
  const shown = crossing.slice(0, CROSSING_SHOWN).map(([name, size]) => `${name} ${bytes(size)}`);
  const rest = crossing.slice(CROSSING_SHOWN);
  const size = rest.reduce((sum, [, one]) => sum + one, 0);
  return [...shown, ...(rest.length ? [t("crossing_more", { n: rest.length, size: bytes(size) })] : [])].join(", ");
}

/** @param {NodeTimes} times */
function timeTable({ total_ms, other_ms, count: all, nodes }) {
  const longest = Math.max(...nodes.map(({ ms }) => ms), 0);
  const rows = nodes.map(({ node, operator, provider, ms }) =>
    h("tr", {},
      h("td", { class: "mono" }, node), h("td", { class: "right" }, duration(ms)),
      h("td", { class: "share" }, shareBar(longest ? ms / longest : 0, total_ms ? ms / total_ms : 0)),
      h("td", {}, operator), h("td", {}, where(provider))));
  const notes = [
    t("times_total", { time: duration(total_ms), other: duration(other_ms) }),
    all > nodes.length && t("times_top", { n: nodes.length, all }),
    nodes.some(({ clock }) => clock === "queued") && t("times_queued"),
    nodes.some(({ clock }) => clock === "gpu") && t("times_gpu"),
  ];
  return h("div", { class: "stack inside-times" },
    table([t("node"), t("time"), t("share"), t("operator"), t("where")], rows, [1]),
    h("p", { class: "fine" }, notes.filter(Boolean).join(" ")));
}

/** @param {number} length - of 1 @param {number} share */
function shareBar(length, share) {
  const fill = h("span", { class: "share-fill" });
  fill.style.setProperty("--length", String(length));
  return h("span", { class: "share-track" }, fill, h("span", { class: "share-text" }, percent(share)));
}

/** @param {ModelComparison} comparison */
function comparison({ a, b, tensors, bad, tolerance_db, first, worst }) {
  const verdict = bad && first ? t("compare_bad", { bad, n: tensors, db: tolerance_db, node: first.node })
    : t("compare_good", { n: tensors, db: tolerance_db });
  const others = worst.filter(({ output }) => output !== first?.output);
  const rows = (first ? [first, ...others] : others).map((row) => differenceRow(row, row === first));
  return h("div", { class: "stack inside-comparison" },
    h("p", { class: bad ? "verdict bad" : "verdict" }, verdict),
    table([t("node"), t("operator"), t("value"), t("shape"), t("snr"), t("max_abs"), ""], rows, [4, 5]),
    h("p", { class: "fine" }, t("compare_sides", { a: where(a), b: where(b) })));
}

/** @param {NodeDifference} row @param {boolean} first - the first one below the tolerance */
function differenceRow({ node, operator, output, shape, equal, snr_db, max_abs, note }, first) {
  return h("tr", { class: first ? "first-bad" : null },
    h("td", { class: "mono" }, node), h("td", {}, operator), h("td", { class: "mono" }, output),
    h("td", {}, shape.join(" × ") || t("scalar")), h("td", { class: "right" }, decibels(equal, snr_db)), h("td", { class: "right" }, small(max_abs)),
    h("td", { dir: "auto" }, [first ? t("first_bad") : "", note].filter(Boolean).join("; ")));
}

/** @param {Verification} verification */
function verification({ found, expected, provider, wrong }) {
  const verdict = t(wrong ? "verify_wrong" : "verify_right", { backend: where(provider) });
  const sides = expected ? [found, expected] : [found];
  /** @type {[string, (figures: Figures) => string][]} */
  const figures = [
    [t("snr"), ({ snr_db }) => decibels(snr_db === null, snr_db)],
    [t("top1"), ({ top1 }) => (top1 === null ? "–" : percent(top1, 1))],
    [t("max_abs"), ({ max_abs }) => small(max_abs)],
    [t("samples"), ({ samples }) => number(samples)],
  ];
  const rows = figures.map(([name, written]) =>
    h("tr", {}, h("td", {}, name), ...sides.map((side) => h("td", { class: "right" }, written(side)))));
  const columns = ["", t("verify_here"), t("verify_build")].slice(0, sides.length + 1);
  return h("div", { class: "stack inside-verification" },
    h("p", { class: wrong ? "verdict bad" : "verdict" }, verdict),
    wrong && h("p", { class: "fine", dir: "auto" }, wrong),
    table(columns, rows, [1, 2]),
    h("p", { class: "fine" }, t("verify_sides")));
}

/** @param {boolean} equal @param {number | null} snr_db */
function decibels(equal, snr_db) {
  return equal ? t("equal") : snr_db === null ? "–" : `${number(snr_db, { maximumFractionDigits: 0 })} dB`;
}

/** @param {number | null} gap */
function small(gap) {
  if (gap === null) return "–";
  return number(gap, { maximumSignificantDigits: 3, notation: gap && gap < 1e-3 ? "scientific" : "standard" });
}

/** @param {string[]} columns @param {HTMLElement[]} rows @param {number[]} right - columns of numbers */
function table(columns, rows, right) {
  const head = columns.map((name, i) => h("th", { scope: "col", class: right.includes(i) ? "right" : null }, name));
  return h("div", { class: "grid", tabindex: 0 },
    h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows)));
}
