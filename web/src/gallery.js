/** The front page of a site with several apps: a card an app, from the manifest. */

import { modelBytes } from "./about.js";
import { byId, h, icon } from "./dom.js";
import { exampleText, thumbnail } from "./examples.js";
import { bytes, language, t, translate } from "./words.js";

/** @import { Site, SiteApp } from "./protocol.js" */

/** @type {{site: string, root: string}} */
const config = JSON.parse(byId("onnxlet").textContent ?? "");
const root = new URL(config.root, document.baseURI);

translate();
try {
  const response = await fetch(new URL(config.site, root));
  if (!response.ok) throw new Error(`${config.site}: ${response.status} ${response.statusText}`);
  fill(await response.json());
} catch (error) {
  byId("cards").replaceWith(h("p", { class: "notice notice-stop", role: "alert" }, t("no_site", { message: /** @type {Error} */ (error).message })));
}

/** @param {Site} site */
function fill(site) {
  byId("cards").append(...site.apps.map((app) => card(site, app)));
  const date = new Date(site.build.time);
  byId("build").textContent = t("build", { version: site.build.onnxlet, date: date.toLocaleDateString(language, { dateStyle: "medium" }) });
}

/** @param {Site} site @param {SiteApp} app */
function card(site, app) {
  const size = t("first_download", { size: bytes(firstVisit(site, app)) });
  return h("li", {},
    h("a", { class: "card gallery-card", href: new URL(app.page, root).href },
      h("div", { class: `gallery-picture of-${app.functions[0]?.inputs[0]?.kind ?? "nothing"}` }, picture(app)),
      h("h2", {}, app.title),
      h("p", { class: "gallery-text" }, app.description),
      h("p", { class: "fine gallery-foot" }, h("span", {}, size), h("span", { class: "gallery-open" }, `${t("open")} →`))));
}

/** What the app's first example holds: its picture, its text, or a sign for its kind. @param {SiteApp} app */
function picture(app) {
  const [example] = app.examples;
  const schema = app.functions.find(({ name }) => name === example?.function);
  if (!example || !schema) return icon("file");
  const text = exampleText(example);
  return thumbnail(example, schema, root) ?? (text ? h("blockquote", { dir: "auto" }, text) : icon("table"));
}

/**
 * Bytes that a first visit loads on WASM: the page, Python, ONNX Runtime and what the app brings.
 * @param {Site} site
 * @param {SiteApp} app
 */
function firstVisit(site, app) {
  const groups = new Set(["page", "python", "python-snapshot", "ort-wasm", `app:${app.name}`, ...app.packages.map((name) => `package:${name}`)]);
  let total = 0;
  for (const file of Object.values(site.files)) if (groups.has(file.group)) total += file.bytes;
  return total + modelBytes(site, app);
}
