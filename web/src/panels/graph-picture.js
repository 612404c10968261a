/**
 * The graph as Netron draws it, in a frame of the site: it gets the file of the model that runs here, and asks for nothing
 * but its own files.
 */

import { button, h } from "../dom.js";
import { download } from "../download.js";
import { bytes, t } from "../words.js";

/** @import { Client } from "../client.js" */
/** @import { Site, Variant } from "../protocol.js" */

/** A larger file is fetched, and drawn, only when somebody says so. */
const ASK_BYTES = 32_000_000;

/** So long may a frame whose files are all there say nothing. */
const SILENT_MS = 10_000;

export class GraphPicture {
  element = h("div", { class: "graph" });
  #site;
  #root;
  #client;
  #shown = "";

  /** @param {Site} site @param {URL} root @param {Client} client */
  constructor(site, root, client) {
    this.#site = site;
    this.#root = root;
    this.#client = client;
  }

  /**
   * @param {string} name - of the model
   * @param {Variant | null} variant - null where the site has no file of it
   */
  show(name, variant) {
    const page = this.#site.panels?.netron;
    if (!page) return this.#say(t("no_netron"));
    if (!variant) return this.#say(t("no_file", { name }));
    if (this.#shown === variant.sha256) return;
    this.#shown = variant.sha256;
    const draw = () => void this.#draw(page, name, variant);
    if (variant.bytes <= ASK_BYTES) return draw();
    this.element.replaceChildren(button({ onclick: draw }, t("draw_graph", { size: bytes(variant.bytes) })));
  }

  /** @param {string} text */
  #say(text) {
    this.#shown = "";
    this.element.replaceChildren(h("p", { class: "fine" }, text));
  }

  /** @param {string} page @param {string} name @param {Variant} variant */
  async #draw(page, name, variant) {
    const sandbox = "allow-scripts allow-same-origin"; // no windows, no downloads, no other place for this page
    const frame = h("iframe", { class: "graph-frame", sandbox, title: t("graph_of", { name }), src: new URL(page, this.#root).href });
    const state = h("p", { class: "fine", role: "status" }, t("panel_loading"));
    const over = new AbortController(); // nobody listens any more
    const failed = Promise.race([refused(over.signal), silent(frame, over.signal)]);
    failed.catch(() => {}); // seen below, or too late to matter
    const ready = heard(frame, ["ready"], over.signal);
    this.element.replaceChildren(state, frame, h("p", { class: "fine" }, t("netron_note")));
    const sight = new Sight(frame);
    try {
      const data = await this.#file(variant);
      await Promise.race([ready, failed]);
      await sight.seen(); // text has no size where nobody sees it, and the drawing would be of nothing
      const done = heard(frame, ["shown", "failed"], over.signal);
      frame.contentWindow?.postMessage({ type: "model", name, bytes: data }, location.origin, [data]);
      const { type, message } = await done;
      if (type === "failed") throw new Error(message);
      if (sight.lost && this.#shown === variant.sha256) this.#shown = ""; // the next look draws it again
      state.remove();
      this.#client.keep(Object.keys(this.#site.files).filter((path) => this.#site.files[path]?.group === "panel:netron"));
    } catch (error) {
      frame.remove();
      state.textContent = t("graph_failed", { message: /** @type {Error} */ (error).message });
      this.#shown = "";
    } finally {
      sight.end();
      over.abort();
    }
  }

  /** The bytes of a model's file, checked. @param {Variant} variant @returns {Promise<ArrayBuffer>} */
  async #file({ parts, bytes: size }) {
    const pieces = await Promise.all(parts.map(async (path) => {
      const expected = this.#site.files[path];
      if (!expected) throw new Error(t("no_file", { name: path }));
      return (await download(new URL(path, this.#root).href, path, expected, {}, () => {})).bytes;
    }));
    const whole = new Uint8Array(size);
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole.buffer;
  }
}

/** Rejects when the host's policy, which may be stricter than the page's own, forbids a frame. @param {AbortSignal} signal @returns {Promise<never>} */
function refused(signal) {
  return new Promise((_, reject) => {
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
      if (effectiveDirective === "frame-src") reject(new Error(t("no_frames")));
    }, { signal });
  });
}

/**
 * Rejects when a frame has loaded and says nothing: then it is not the viewer that stands in it.
 * @param {HTMLIFrameElement} frame
 * @param {AbortSignal} signal
 * @returns {Promise<never>}
 */
function silent(frame, signal) {
  return new Promise((_, reject) => {
    frame.addEventListener("load", () => setTimeout(() => reject(new Error(t("frame_silent"))), SILENT_MS), { signal });
  });
}

/** Whether an element is seen: another tab of the page may have taken its place. */
class Sight {
  /** Whether it was out of sight since then. */
  lost = false;
  #element;
  #wake = () => {};
  #observer = new ResizeObserver(() => {
    if (this.#element.clientWidth) this.#wake();
    else this.lost = true;
  });

  /** @param {Element} element */
  constructor(element) {
    this.#element = element;
    this.#observer.observe(element);
  }

  /** Wait until it is. */
  async seen() {
    if (!this.#element.clientWidth) await new Promise((resolve) => (this.#wake = () => resolve(true)));
    this.lost = false;
  }

  end() {
    this.#observer.disconnect();
  }
}

/**
 * @param {HTMLIFrameElement} frame
 * @param {string[]} types
 * @param {AbortSignal} signal - ends the listening
 * @returns {Promise<{type: string, message: string}>} the first such message of the frame
 */
function heard(frame, types, signal) {
  return new Promise((resolve) => {
    addEventListener("message", ({ source, origin, data }) => {
      if (source === frame.contentWindow && origin === location.origin && types.includes(data?.type)) resolve(data);
    }, { signal });
  });
}
