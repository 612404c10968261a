/**
 * The Python panel: the app's own files in an editor, the edited version run in place of the app, and a prompt in its scope.
 *
 * What is typed stays in this browser: a draft lies in localStorage, and only a visitor who presses Run has it run, until
 * the page is loaded again.
 */

import { showError } from "../display.js";
import { button, fresh, h, icon } from "../dom.js";
import { bytes, t } from "../words.js";
import { Prompt } from "./prompt.js";
import { styled } from "./styled.js";

/** @import { Client } from "../client.js" */
/** @import { Editor } from "../editor/editor.js" */
/** @import { AppError, Edited, Site, SiteApp } from "../protocol.js" */

/**
 * @typedef {object} Options
 * @property {Client} client
 * @property {Site} site
 * @property {SiteApp} app
 * @property {URL} root
 * @property {(edited: Edited, changed: boolean) => void} edited the app that runs now is another; changed: not the site's
 * @property {() => void} tryIt shows the form
 */

/** @param {Options} options */
export async function openPython(options) {
  const { site, app, root } = options;
  const module = site.panels?.editor;
  if (!module) throw new Error(t("no_editor"));
  const sources = Object.keys(app.files).filter((path) => path.endsWith(".py"));
  const [{ createEditor }, texts] = await Promise.all([
    import(new URL(module, root).href),
    Promise.all(sources.map((path) => text(new URL(app.files[path] ?? "", root)))),
    styled("python.css"),
  ]);
  options.client.keep(Object.keys(site.files).filter((path) => site.files[path]?.group === "panel:editor"));
  return new PythonPanel(options, createEditor, Object.fromEntries(sources.map((path, i) => [path, texts[i] ?? ""])));
}

/** @param {URL} url */
async function text(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url.pathname}: ${response.status} ${response.statusText}`);
  return response.text();
}

class PythonPanel {
  #options;
  #originals;
  #draft;
  /** The texts that run instead of the site's. @type {Record<string, string>} */
  #running = {};
  /** @type {string} */
  #file;
  #editor;
  #prompt;
  #badge = h("span", { class: "badge", hidden: true }, t("edited"));
  #answer = h("div", { class: "python-answer", "aria-live": "polite" });
  #run;
  #reset;
  #stop;
  /** @type {HTMLSelectElement | null} */
  #select = null;

  /**
   * @param {Options} options
   * @param {typeof import("../editor/editor.js").createEditor} createEditor
   * @param {Record<string, string>} originals - by path
   */
  constructor(options, createEditor, originals) {
    this.#options = options;
    this.#originals = originals;
    this.#draft = new Draft(`onnxlet-draft ${options.root.href} ${options.app.name}`, originals);
    this.#file = `${options.app.module.replaceAll(".", "/")}.py`;
    if (!(this.#file in originals)) this.#file = Object.keys(originals)[0] ?? "";
    /** @type {Editor} */
    this.#editor = createEditor({
      text: this.#draft.of(this.#file),
      label: t("editor"),
      changed: (now) => this.#changed(now),
      run: () => void this.run(),
    });
    this.#run = button({ class: "button primary", onclick: () => void this.run() }, icon("play"), t("run_edited"));
    this.#reset = button({ onclick: () => void this.#back() }, icon("undo"), t("reset"));
    this.#stop = button({ class: "button stop", onclick: () => void options.client.stop() }, icon("stop"), t("stop"));
    this.#prompt = new Prompt(options.client);
    const title = fresh("python");
    this.element = h("div", { class: "python" },
      h("section", { class: "card", "aria-labelledby": title },
        h("div", { class: "python-head" },
          h("h2", { id: title, class: "eyebrow" }, this.#chooser()), this.#badge,
          h("div", { class: "row" }, this.#run, this.#reset)),
        this.#editor.element,
        this.#answer,
        h("p", { class: "fine" }, t("python_note")),
        h("p", { class: "fine" }, t("editor_keys")),
        this.#others()),
      this.#prompt.element);
    options.client.on("edited", (answer) => {
      if ("error" in answer) this.#adopt({}, null);
    });
    this.#mark();
  }

  shown() {
    this.#prompt.rest();
  }

  /** Runs what the editor holds in place of the app. */
  async run() {
    await this.#import(this.#draft.changed);
  }

  async #back() {
    this.#draft.clear();
    this.#editor.show(this.#draft.of(this.#file));
    this.#mark();
    if (Object.keys(this.#running).length) await this.#import({});
    else this.#answer.replaceChildren();
  }

  /** @param {Record<string, string>} sources */
  async #import(sources) {
    this.#run.disabled = this.#reset.disabled = true;
    this.#answer.replaceChildren(h("div", { class: "row" }, h("p", { class: "fine" }, t("working")), this.#stop));
    this.#stop.hidden = true;
    const patience = setTimeout(() => (this.#stop.hidden = false), 300);
    const answer = await this.#options.client.edit(sources);
    clearTimeout(patience);
    this.#run.disabled = this.#reset.disabled = false;
    if ("error" in answer) {
      const stopped = answer.error.type === "Stopped";
      this.#answer.replaceChildren(stopped ? h("p", {}, t("stopped")) : showError(answer.error), h("p", { class: "fine" }, t("edit_failed")));
      return this.#point(answer.error);
    }
    this.#editor.mark(0);
    this.#adopt(sources, answer);
    const changed = Object.keys(sources).length > 0;
    this.#answer.replaceChildren(h("div", { class: "row" },
      h("p", { role: "status" }, t(changed ? "edit_runs" : "edit_reset")),
      button({ onclick: () => this.#options.tryIt() }, t("tab_try"))));
  }

  /** @param {Record<string, string>} sources @param {Edited | null} answer */
  #adopt(sources, answer) {
    this.#running = sources;
    if (answer) this.#options.edited(answer, Object.keys(sources).length > 0);
    this.#mark();
  }

  /** Shows the line of a file of the app where it went wrong. @param {AppError} error */
  #point({ traceback = "" }) {
    const places = [...traceback.matchAll(/File "\/app\/([^"]+)", line (\d+)/g)].filter(([, path]) => path && path in this.#originals);
    const [, path, line] = places.at(-1) ?? [];
    if (!path) return;
    this.#open(path);
    this.#editor.mark(Number(line));
  }

  /** @param {string} path */
  #open(path) {
    if (path === this.#file) return;
    this.#file = path;
    if (this.#select) this.#select.value = path;
    this.#editor.show(this.#draft.of(path));
  }

  /** @param {string} now */
  #changed(now) {
    this.#draft.set(this.#file, now);
    this.#mark();
  }

  #mark() {
    const edited = Object.keys(this.#draft.changed).length > 0;
    this.#badge.hidden = !edited;
    this.#reset.hidden = !edited && Object.keys(this.#running).length === 0;
  }

  /** The name of the file, or a choice among several. */
  #chooser() {
    const paths = Object.keys(this.#originals);
    if (paths.length < 2) return h("span", { class: "mono" }, this.#file);
    const options = paths.map((path) => h("option", { value: path, selected: path === this.#file }, path));
    this.#select = h("select", { class: "entry mono", "aria-label": t("source_file"), onchange: () => this.#open(this.#select?.value ?? "") }, ...options);
    return this.#select;
  }

  /** What else lies beside the app. */
  #others() {
    const { app, site } = this.#options;
    const rest = Object.entries(app.files).filter(([path]) => !(path in this.#originals));
    const models = Object.entries(app.models).map(([path, id]) => h("li", {}, h("span", { class: "mono" }, path), h("span", { class: "fine" }, t("a_model", { id }))));
    const files = rest.map(([path, file]) => h("li", {}, h("span", { class: "mono" }, path), h("span", { class: "fine" }, bytes(site.files[file]?.bytes ?? 0))));
    if (!files.length && !models.length) return null;
    return h("details", {}, h("summary", {}, t("other_files")), h("ul", { class: "python-files" }, ...models, ...files));
  }
}

/** The texts that a visitor typed, by path: kept in this browser, where it lets us. */
class Draft {
  #key;
  #originals;
  /** @type {Record<string, string>} */
  #texts = {};

  /** @param {string} key @param {Record<string, string>} originals */
  constructor(key, originals) {
    this.#key = key;
    this.#originals = originals;
    try {
      const kept = JSON.parse(localStorage.getItem(key) ?? "{}");
      for (const [path, one] of Object.entries(kept)) if (path in originals && typeof one === "string") this.#texts[path] = one;
    } catch {
      // a private window, or something else's text: the draft lives as long as the page
    }
  }

  /** The texts that differ from the site's. */
  get changed() {
    return Object.fromEntries(Object.entries(this.#texts).filter(([path, one]) => one !== this.#originals[path]));
  }

  /** @param {string} path */
  of(path) {
    return this.#texts[path] ?? this.#originals[path] ?? "";
  }

  /** @param {string} path @param {string} one */
  set(path, one) {
    this.#texts[path] = one;
    this.#keep();
  }

  clear() {
    this.#texts = {};
    this.#keep();
  }

  #keep() {
    try {
      if (Object.keys(this.changed).length) localStorage.setItem(this.#key, JSON.stringify(this.changed));
      else localStorage.removeItem(this.#key);
    } catch {
      // as above
    }
  }
}
