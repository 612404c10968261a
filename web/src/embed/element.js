/**
 * The inside of `<onnxlet-app>`: the page's own form and results in a shadow tree, where no style goes in or out.
 */

import { append, h } from "../dom.js";
import { here } from "../here.js";
import { whyUnsupported } from "../support.js";
import { tabs } from "../tabs.js";
import { View } from "../view.js";
import { bytesOf, count, language, named, percent, t } from "../words.js";
import { AppError, EmbeddedApp } from "./app.js";
import { clientOf } from "./clients.js";
import { returned } from "./returned.js";
import { followTheme } from "./theme.js";

/** @import { Client } from "../client.js" */
/** @import { BackendChoice, CallResult, ClientEvents, Progress, Site, SiteApp } from "../protocol.js" */

const STYLES = ["base", "layout", "controls", "result", "panel", "embed"];
/** Content waits for its styles, but not for ever: a host's policy may refuse them. */
const STYLES_MS = 3000;

/** @typedef {{app: EmbeddedApp | null, theme: () => void, close: () => void}} Mounted */

/**
 * Fill an element with an app, and start it.
 * @param {HTMLElement} host
 * @param {Site} site
 * @param {string} root
 * @param {SiteApp} app
 * @returns {Mounted}
 */
export function mount(host, site, root, app) {
  const shadow = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const tell = (/** @type {string} */ name, /** @type {unknown} */ detail) => host.dispatchEvent(new CustomEvent(name, { detail }));
  const body = h("div", { class: "embed", lang: language, hidden: true });
  const styles = STYLES.map(sheet);
  const dark = sheet("dark");
  shadow.replaceChildren(...styles, dark, body);
  void styled([...styles, dark]).then(() => (body.hidden = false));
  const theme = followTheme(host, dark);

  const problem = whyUnsupported() || unknownFunction(host, app);
  if (problem) {
    append(body, h("p", { class: "notice notice-stop", role: "alert" }, problem));
    tell("error", new AppError({ type: "StartError", message: problem }));
    return { app: null, theme: theme.update, close: theme.stop };
  }

  const { client, release } = clientOf(site, root, app, backendOf(host));
  const line = new StatusLine(new URL(app.page, root).href);
  const announce = h("div", { class: "unseen", role: "status" });
  const chosen = host.getAttribute("function");
  const functions = app.functions.filter(({ name }) => !chosen || name === chosen);
  const views = functions.map((schema) => new View({
    schema,
    examples: app.examples.filter((example) => example.function === schema.name),
    client,
    root: new URL(root),
    intro: schema.doc.trim() !== app.description.trim(),
    live: schema.live ?? false,
    hooks: {
      say: (text) => (announce.textContent = text),
      ran() {},
      restart: (backend) => void client.restart(backend ? { backend } : {}),
      answered: (answer) => told(schema.name, answer),
    },
  }));
  /** @param {string} name @param {CallResult} answer */
  function told(name, answer) {
    if ("error" in answer) {
      if (answer.error.type !== "Stopped") tell("error", new AppError(answer.error)); // the visitor's own wish is no error
      return;
    }
    const results = answer.outputs.map((display) => returned(display, answer.buffers));
    tell("result", { function: name, results, timing: answer.timing });
  }

  let shown = 0;
  const show = (/** @type {number} */ at) => {
    shown = at;
    views.forEach((view, i) => view.show(i === at));
  };
  if (!host.hasAttribute("title-less")) {
    append(body, h("header", { class: "embed-head" },
      h("h2", { class: "embed-title", dir: "auto" }, app.title), app.description && h("p", { class: "embed-lede", dir: "auto" }, app.description)));
  }
  if (views.length > 1) append(body, tabs(views.map((view, i) => ({ name: functions[i]?.title ?? "", panel: view.element })), show, { stem: "view", label: t("functions") }).element);
  append(body, ...views.map((view) => view.element), line.element, announce);
  show(0);
  takeFiles(body, (file) => views[shown]?.take(file) ?? false);

  /** @type {Mounted} */
  const mounted = {
    app: null,
    theme: theme.update,
    close() {
      for (const deaf of listening) deaf();
      for (const view of views) view.show(false); // lets go of the camera and the microphone
      theme.stop();
      release();
    },
  };
  const onStatus = (/** @type {ClientEvents["status"]} */ event) => {
    line.state(event);
    for (const view of views) view.state(event);
    if (event.state === "failed" && event.error) tell("error", new AppError(event.error));
    if (event.state !== "ready" || mounted.app) return;
    mounted.app = new EmbeddedApp(app, client);
    tell("ready", { app: mounted.app, status: event.ready });
  };
  const listening = [
    client.on("progress", (progress) => line.progress(progress)),
    client.on("status", onStatus),
    client.on("gone", ({ reason }) => line.note(reason)),
  ];
  begin(client, backendOf(host), onStatus);
  return mounted;
}

/**
 * Start the app, or take it as it is, where something else in the page has started it.
 * @param {Client} client
 * @param {BackendChoice} backend
 * @param {(event: ClientEvents["status"]) => void} hear
 */
function begin(client, backend, hear) {
  const { ready } = client;
  if (ready) queueMicrotask(() => hear({ state: "ready", ready })); // after whoever mounts this can listen
  else void client.start({ backend });
}

/** @param {HTMLElement} host @returns {BackendChoice} */
function backendOf(host) {
  const wanted = host.getAttribute("backend");
  return wanted === "webgpu" || wanted === "wasm" || wanted === "python" ? wanted : "auto";
}

/** @param {HTMLElement} host @param {SiteApp} app @returns {string} a sentence; "" where all is well */
function unknownFunction(host, { name: appName, functions }) {
  const wanted = host.getAttribute("function");
  if (!wanted || functions.some(({ name }) => name === wanted)) return "";
  return `${appName} has no function "${wanted}"; it has ${functions.map(({ name }) => name).join(", ")}`;
}

/** @param {string} name */
function sheet(name) {
  const href = here(`styles/${name}.css`).href;
  return h("link", { rel: "stylesheet", href, crossorigin: "anonymous" }); // a host that isolates lets no other origin have it else
}

/** @param {HTMLLinkElement[]} links */
function styled(links) {
  const loaded = links.map((link) => new Promise((resolve) => {
    link.addEventListener("load", resolve, { once: true });
    link.addEventListener("error", resolve, { once: true });
  }));
  return Promise.race([Promise.all(loaded), new Promise((resolve) => setTimeout(resolve, STYLES_MS))]);
}

/** Files that are dropped or pasted onto the element. @param {HTMLElement} body @param {(file: File) => boolean} take */
function takeFiles(body, take) {
  body.addEventListener("dragover", (event) => event.preventDefault());
  body.addEventListener("drop", (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) take(file);
  });
  body.addEventListener("paste", (event) => {
    const file = event.clipboardData?.files[0];
    if (file && take(file)) event.preventDefault();
  });
}

/** Below the form: how far the start is, then what runs; and the way to the app's own page. */
class StatusLine {
  #text = h("span", {}, t("starting"));
  #bar = h("progress", { class: "embed-progress", max: 1, value: 0, "aria-label": t("starting"), hidden: true });
  #lamp = h("span", { class: "embed-status", "data-state": "starting" }, h("span", { class: "lamp", "aria-hidden": "true" }), this.#text);
  #note = h("p", { class: "fine", role: "status" });
  element;

  /** @param {string} page */
  constructor(page) {
    this.element = h("footer", { class: "embed-foot" },
      this.#bar, this.#note,
      h("p", { class: "fine" }, this.#lamp),
      h("p", { class: "fine" }, `${t("privacy")} `, h("a", { href: page, target: "_blank", rel: "noopener" }, t("open_page"))));
  }

  /** @param {Progress} progress */
  progress({ stage, loaded, total }) {
    if (this.#lamp.dataset.state !== "starting") return;
    const share = total > 0 ? loaded / total : 0;
    this.#bar.hidden = false;
    this.#bar.value = share;
    this.#text.textContent = loaded < total ? `${t("loading", { percent: percent(share) })} (${bytesOf(loaded, total)})` : `${named("stage", stage)}…`;
  }

  /** @param {ClientEvents["status"]} event */
  state({ state, ready }) {
    this.#lamp.dataset.state = state;
    if (state === "starting") this.#text.textContent = t("starting");
    else this.#bar.hidden = true;
    if (state === "failed" || state === "stopped") this.#text.textContent = t("failed");
    if (!ready) return;
    const { backend, threads } = ready;
    const where = t("runs_on", { backend: named("backend", backend) });
    this.#text.textContent = backend === "wasm" ? `${where}, ${count("threads", threads)}` : where;
  }

  /** @param {string} text */
  note(text) {
    this.#note.textContent = text;
  }
}
