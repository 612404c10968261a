/**
 * The status chip and the panel behind it: what runs, where, why, how fast, and how much memory it takes; and the switch
 * between backends.
 */

import { latencyChart, median } from "./chart.js";
import { button, byId, h } from "./dom.js";
import { bytes, bytesOf, count, duration, language, loadedFile, named, percent, t } from "./words.js";

/** @import { Demoted } from "./demoted.js" */
/** @import { Ask, Inside } from "./inside.js" */
/** @import { Backend, BackendChoice, ClientEvents, Progress, Ready, Status, Timing } from "./protocol.js" */

/** @type {BackendChoice[]} */
const choices = ["auto", "webgpu", "wasm", "python"];

const MOST_TIMINGS = 1000; // a live page runs for hours

export class StatusPanel {
  #chip = byId("status");
  #text = byId("status-text");
  #panel = byId("panel");
  #progress = /** @type {HTMLProgressElement} */ (byId("progress"));
  #runs = h("div");
  #facts = h("div");
  #untrusted = h("div");
  #memory = h("p", { class: "figure" }, "–");
  #offline = h("div");
  #details = h("details", { class: "panel-inside", ontoggle: () => void this.#look() }, h("summary", {}, t("inside")));
  /** @type {Promise<Inside> | undefined} */
  #inside;
  /** @type {Map<BackendChoice, HTMLInputElement>} */
  #radios = new Map();
  /** @type {Ready | null} */
  #ready = null;
  /** Runs since the last start. @type {Timing[]} */
  #timings = [];
  #askStatus;
  #askInside;
  #demoted;
  #demote;
  #trust;
  #forget;

  /**
   * @param {{backend: BackendChoice, choose: (backend: BackendChoice) => void, status: () => Promise<Status | null>,
   *   inside: Ask, demoted: Demoted, demote: (backend: Backend, why: string) => void,
   *   trust: (backend: Backend) => void, forget: () => void}} options
   */
  constructor({ backend, choose, status, inside, demoted, demote, trust, forget }) {
    this.#askStatus = status;
    this.#askInside = inside;
    this.#demoted = demoted;
    this.#demote = demote;
    this.#trust = trust;
    this.#forget = forget;
    const switches = choices.map((choice) => {
      const radio = h("input", { type: "radio", name: "backend", value: choice, onchange: () => choose(choice) });
      radio.checked = choice === backend;
      this.#radios.set(choice, radio);
      return h("label", { class: "segment" }, radio, h("span", {}, t(`backend_${choice}`)));
    });
    const title = h("h2", { id: "backend-title" }, t("backend"));
    this.#panel.append(
      h("div", { class: "panel-part" }, title,
        h("div", { class: "segments", role: "radiogroup", "aria-labelledby": "backend-title" }, ...switches),
        this.#facts, this.#untrusted),
      h("div", { class: "panel-part" }, h("h2", {}, t("speed")), this.#runs),
      h("div", { class: "panel-part" }, h("h2", {}, t("memory")), this.#memory, this.#offline, h("p", { class: "fine" }, t("privacy"))),
      this.#details);
    this.#chip.addEventListener("click", () => this.toggle());
    this.#panel.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.toggle(false);
      this.#chip.focus();
    });
    this.#drawRuns();
  }

  /** @param {boolean} [open] */
  toggle(open = Boolean(this.#panel.hidden)) {
    this.#panel.hidden = !open;
    this.#chip.setAttribute("aria-expanded", String(open));
    if (open) void this.#refresh();
  }

  /** @param {Progress} progress */
  progress({ stage, loaded, total }) {
    if (this.#chip.dataset.state !== "starting") return; // a file that loads beside a run is no news
    const loading = loaded < total;
    const share = total > 0 ? loaded / total : 0;
    this.#progress.hidden = false;
    this.#progress.value = share;
    const size = h("span", { class: "chip-more" }, bytesOf(loaded, total));
    if (loading) this.#text.replaceChildren(t("loading", { percent: percent(share) }), size);
    else this.#text.textContent = `${named("stage", stage)}…`;
  }

  /** @param {ClientEvents["status"]} event */
  state({ state, ready }) {
    this.#chip.dataset.state = state;
    if (state === "starting") {
      this.#ready = null;
      this.#timings = [];
      this.#text.textContent = t("starting");
      this.#drawRuns();
      this.#facts.replaceChildren();
      this.#drawUntrusted();
      void this.#inside?.then((inside) => inside.clear());
    }
    if (state === "failed" || state === "stopped") this.#text.textContent = t("failed");
    if (state !== "starting") this.#progress.hidden = true;
    if (!ready) return;
    if (ready !== this.#ready) {
      this.#ready = ready;
      this.#drawRuns();
      this.#drawFacts(ready);
      void this.#refresh();
    }
    this.#text.textContent = summary(ready);
  }

  /** @param {BackendChoice} backend - chosen by somebody other than the switch */
  choose(backend) {
    const radio = this.#radios.get(backend);
    if (radio) radio.checked = true;
  }

  /** @param {Timing} timing */
  ran(timing) {
    this.#timings.push(timing);
    if (this.#timings.length > MOST_TIMINGS) this.#timings.splice(1, 1); // the first is a figure of its own
    this.#drawRuns();
    void this.#refresh();
  }

  /** @param {ClientEvents["offline"]} event */
  offline({ ready, reason, bytes: size }) {
    const text = ready ? t("cached", { size: bytes(size) }) : `${t("not_cached")} ${reason}`;
    this.#offline.replaceChildren(
      h("p", { class: "fine" }, text),
      ready ? button({ class: "button small", onclick: this.#forget }, t("forget")) : "");
  }

  /** @param {boolean} done - whether what was kept could be removed */
  forgotten(done) {
    this.#offline.replaceChildren(h("p", { class: "fine" }, t(done ? "forgotten" : "not_forgotten")));
  }

  /** Asks the worker only while somebody looks. */
  async #refresh() {
    if (this.#panel.hidden || !this.#ready) return;
    const status = await this.#askStatus();
    if (!status) return;
    this.#memory.textContent = bytes(status.memory_bytes);
    this.#drawFacts(status);
    await this.#look();
  }

  /** Looks inside the models, while that part is open; its code and the question come only then. */
  async #look() {
    if (!this.#details.open || this.#panel.hidden || !this.#ready) return;
    this.#inside ??= import("./inside.js").then(({ Inside }) => {
      const inside = new Inside(this.#askInside, this.#demote);
      this.#details.append(inside.element);
      return inside;
    });
    await (await this.#inside).refresh();
  }

  /** @param {Status} status */
  #drawFacts(status) {
    this.#facts.replaceChildren(
      h("p", { class: "figure" }, t("runs_on", { backend: named("backend", status.backend) })),
      h("p", { class: "fine", dir: "auto" }, status.reason),
      facts([
        [t("threads"), status.backend === "wasm" ? String(status.threads) : ""],
        [t("waits"), named("waits", status.waits)],
        [t("python"), status.python],
        [t("python_start"), pythonStart(this.#ready)],
        [t("placement"), placement(status)],
        [t("file"), status.variant.format ? loadedFile(status.variant) : ""],
      ]));
  }

  /** Backends that answered wrong here, each with the way back. */
  #drawUntrusted() {
    this.#untrusted.replaceChildren(...this.#demoted.backends.map((backend) => {
      const { why = "", time = 0 } = this.#demoted.fault(backend) ?? {};
      const date = new Date(time).toLocaleDateString(language, { dateStyle: "medium" });
      const name = named("backend", backend);
      return h("div", { class: "untrusted" },
        h("p", { class: "fine" }, t("demoted", { backend: name, date })),
        h("p", { class: "fine", dir: "auto" }, why),
        button({ class: "button small", onclick: () => this.#trust(backend) }, t("trust_again", { backend: name })));
    }));
  }

  #drawRuns() {
    const [first, ...later] = this.#timings.map(({ total_ms: ms }) => ms);
    this.#runs.replaceChildren(
      facts([
        [t("cold"), this.#ready ? duration(this.#ready.load_ms) : ""],
        [t("first_run"), first === undefined ? "" : duration(first)],
        [t("warm"), later.length ? duration(median(later)) : ""],
        [t("best"), later.length ? duration(Math.min(...later)) : ""],
      ]),
      latencyChart(this.#timings.slice(1))); // beside the first run all others would be flat
  }
}

/**
 * How a model that was cut is shared out; "" where one provider has it all.
 * @param {Status} status
 */
function placement({ backend, placement: shares }) {
  const { parts = [] } = /** @type {{parts?: {provider: string, nodes: string[]}[]}} */ (shares ?? {});
  if (parts.length < 2) return "";
  let [here, python] = [0, 0];
  for (const { provider, nodes } of parts) {
    if (provider === "NumpyExecutionProvider") python += nodes.length;
    else here += nodes.length;
  }
  return t("shared_out", { here, python, backend: named("backend", backend) });
}

/** How Python started, and why not from its snapshot. @param {Ready | null} ready */
function pythonStart(ready) {
  if (!ready) return "";
  const { snapshot, why } = ready.python_start;
  return snapshot ? t("from_snapshot") : t("from_files", { why });
}

/** @param {Status} status */
function summary({ backend, threads }) {
  const name = named("backend", backend);
  return backend === "wasm" ? `${name}, ${count("threads", threads)}` : name;
}

/** @param {[string, string][]} rows - those without a value are left out */
function facts(rows) {
  const known = rows.filter(([, value]) => value);
  return h("dl", { class: "facts" }, ...known.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}
