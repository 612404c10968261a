/**
 * The page of one app: reads the manifest, starts the client at once, and builds the form while the runtime loads.
 * It knows kinds of values, not what a model means, and nothing of the worker beyond client.js.
 */

import { about } from "./about.js";
import { Client } from "./client.js";
import { Demoted } from "./demoted.js";
import { append, byId, h } from "./dom.js";
import { goOn, handOver } from "./handover.js";
import { mark } from "./marks.js";
import { dismiss, notify, watchNetwork } from "./notices.js";
import { panels } from "./panels.js";
import { StatusPanel } from "./status.js";
import { whyUnsupported } from "./support.js";
import { tabs } from "./tabs.js";
import { View } from "./view.js";
import { language, named, t, translate } from "./words.js";

/** @import { Backend, BackendChoice, CallResult, ClientEvents, Edited, FunctionSchema, Site, SiteApp } from "./protocol.js" */

/** @type {{app: string, site: string, root: string}} */
const config = JSON.parse(byId("onnxlet").textContent ?? "");
const root = new URL(config.root, document.baseURI);

/** Gives a file to the form that is shown. @type {(file: File) => boolean} */
let take = () => false;

// A file dropped beside a field would otherwise replace the page.
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  const file = event.dataTransfer?.files[0];
  if (file) take(file);
});
document.addEventListener("paste", (event) => {
  const file = event.clipboardData?.files[0];
  if (file && take(file)) event.preventDefault();
});

mark("page");
translate();
watchNetwork();
const problem = whyUnsupported();
if (problem) refuse(problem);
else await open();

async function open() {
  /** @type {Site} */
  let site;
  try {
    const response = await (goOn(root.href) ?? fetch(new URL(config.site, root)));
    if (!response.ok) throw new Error(`${config.site}: ${response.status} ${response.statusText}`);
    site = await response.json();
  } catch (error) {
    return refuse(t("no_site", { message: /** @type {Error} */ (error).message }));
  }
  const app = site.apps.find(({ name }) => name === config.app);
  if (!app) return refuse(t("no_site", { message: `${config.site} has no app "${config.app}"` }));
  handOver(site, root.href);
  begin(site, app);
  furnish(site, app);
  reached("form");
}

/** @param {Site} site @param {SiteApp} app */
function begin(site, app) {
  const demoted = new Demoted(site, root, app.name);
  const client = new Client({ site, root, app: app.name, demoted: () => demoted.backends });
  const backend = wantedBackend();
  const panel = new StatusPanel({
    backend,
    choose: (choice) => void client.restart({ backend: choice }),
    status: () => client.status(),
    inside: (what, session) => client.inside(what, session),
    demoted,
    demote(wrong, why) {
      demoted.add(wrong, why);
      notify("demoted", t("demoted_now", { backend: named("backend", wrong) }), { label: t("trust_again", { backend: named("backend", wrong) }), onclick: () => trust(wrong) });
      again("auto");
    },
    trust,
    forget,
  });
  async function forget() {
    const done = await client.forget();
    panel.forgotten(done);
    notify("storage", t(done ? "forgotten" : "not_forgotten"));
  }
  const again = (/** @type {BackendChoice} */ choice) => {
    panel.choose(choice);
    void client.restart({ backend: choice });
  };
  /** @param {Backend} backend */
  function trust(backend) {
    demoted.remove(backend);
    dismiss("demoted");
    again("auto");
  }
  /** @type {View[]} */
  let views = [];
  /** @type {ClientEvents["status"]} */
  let latest = { state: "starting" };
  client.on("progress", (progress) => panel.progress(progress));
  client.on("status", (event) => {
    latest = event;
    panel.state(event);
    for (const view of views) view.state(event);
    if (event.state === "ready") reached("ready");
  });
  client.on("gone", ({ reason, restarting }) => {
    if (restarting) panel.choose(restarting);
    notify("gone", reason);
  });
  client.on("update", () => notify("update", t("update"), { label: t("reload"), onclick: () => client.reload() }));
  client.on("offline", (event) => panel.offline(event));
  client.on("storage", ({ what }) => {
    if (what === "damaged") notify("storage", t("damaged"), { label: t("reload"), onclick: () => client.reload() });
    else notify("storage", t("gone"), { label: t("forget"), onclick: forget });
  });
  void client.start({ backend });

  const hooks = {
    say,
    ran: panel.ran.bind(panel),
    answered(/** @type {CallResult} */ answer) {
      if (!("error" in answer)) reached("answer", answer.direct ? "direct" : "python");
    },
    restart(/** @type {BackendChoice | undefined} */ choice) {
      if (choice) panel.choose(choice);
      void client.restart(choice ? { backend: choice } : {});
    },
  };
  const form = h("div", {});
  let functions = "";
  /** @param {FunctionSchema[]} schemas - of the app as it is now */
  function fill(schemas) {
    const now = JSON.stringify(schemas);
    if (now === functions) return; // the same form keeps what is in it
    functions = now;
    for (const view of views) view.show(false); // what listens or looks stops
    views = schemas.map((schema) => {
      const intro = schema.doc.trim() !== app.description.trim();
      return new View({ schema, examples: fitting(app, schema), client, root, intro, live: schema.live ?? false, hooks });
    });
    for (const view of views) view.state(latest);
    arrange(form, schemas, views);
  }
  fill(app.functions);

  const { elements, open } = panels(form, {
    python: async () => (await import("./panels/python.js")).openPython({ client, site, app, root, tryIt: () => open(""), edited }),
    model: async () => (await import("./panels/model.js")).openModel({ client, site, app, root }),
  });
  byId("work").append(...elements);
  client.on("edited", (answer) => {
    if (!("error" in answer)) return;
    fill(app.functions);
    notify("edited", t("edit_lost"));
  });

  /** @param {Edited} answer @param {boolean} changed */
  function edited({ schema }, changed) {
    fill(schema.functions);
    if (changed) notify("edited", t("edit_notice"));
    else dismiss("edited");
  }
}

/**
 * The examples of a function, as far as an edited one still takes them.
 * @param {SiteApp} app
 * @param {FunctionSchema} schema
 */
function fitting(app, schema) {
  const kinds = (/** @type {FunctionSchema} */ { inputs }) => inputs.map(({ name, kind }) => `${name} ${kind}`).join();
  const original = app.functions.find(({ name }) => name === schema.name);
  if (!original || !kinds(schema).startsWith(kinds(original))) return [];
  return app.examples.filter((example) => example.function === schema.name);
}

/**
 * @param {HTMLElement} form - where the functions are shown
 * @param {FunctionSchema[]} schemas
 * @param {View[]} views
 */
function arrange(form, schemas, views) {
  let shown = 0;
  const show = (/** @type {number} */ chosen) => {
    shown = chosen;
    views.forEach((view, i) => view.show(i === chosen));
  };
  const entries = views.map((view, i) => ({ name: schemas[i]?.title ?? "", panel: view.element }));
  const list = views.length > 1 ? tabs(entries, show, { stem: "view", label: t("functions") }).element : "";
  form.replaceChildren(...[list, ...views.map((view) => view.element)].filter(Boolean));
  show(0);
  take = (file) => !form.hidden && (views[shown]?.take(file) ?? false);
}

/** A link may name the backend: `?backend=wasm`. @returns {BackendChoice} */
function wantedBackend() {
  const wanted = new URLSearchParams(location.search).get("backend");
  return wanted === "webgpu" || wanted === "wasm" || wanted === "python" ? wanted : "auto";
}

/** @param {Site} site @param {SiteApp} app */
function furnish(site, app) {
  append(byId("about"), about(site, app));
  const date = new Date(site.build.time);
  const written = Number.isNaN(date.getTime()) ? "" : date.toLocaleDateString(language, { dateStyle: "medium" });
  byId("build").textContent = t("build", { version: site.build.onnxlet, date: written });
  const home = /** @type {HTMLAnchorElement} */ (byId("home"));
  home.hidden = site.apps.length < 2;
  home.href = new URL("index.html", root).href;
}

/**
 * Say where it can be seen from outside that the page has come so far.
 * @param {"form" | "ready" | "answer"} stage
 * @param {string} [how]
 */
function reached(stage, how = "") {
  if (stage in document.documentElement.dataset) return;
  document.documentElement.dataset[stage] = how;
  mark(stage);
}

/** @param {string} text - for screen readers */
function say(text) {
  byId("announce").textContent = text;
}

/** @param {string} reason - why nothing can run; takes the place of the form */
function refuse(reason) {
  byId("work").append(h("div", { class: "notice notice-stop", role: "alert" }, h("p", {}, reason)));
  const chip = byId("status");
  chip.dataset.state = "failed";
  chip.setAttribute("disabled", "");
  byId("status-text").textContent = t("failed");
}
