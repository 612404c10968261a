/**
 * The page inside the frame of the model panel: Netron's viewer, with a host of our own.
 *
 * Netron's viewer leaves to a host what differs between a desktop and a browser. Its own browser host asks an address
 * service where the visitor is, sets cookies and reports use; this one has none of that: it shows the one model that the page
 * around the frame hands over, and offers no way out of the frame.
 */

import * as base from "./base.js";
import * as view from "./view.js";

/** Modules that a viewer of ONNX files needs; it asks for those of other formats too. */
const MODULES = new Set(["onnx", "onnx-proto", "protobuf", "text", "json", "flatbuffers"]);

class Host {
  window = window;
  document = document;
  type = "Frame";
  version = "";
  /** What the visitor chose in the viewer; it goes with the frame. @type {Map<string, unknown>} */
  #settings = new Map();
  /** @type {Map<string, Promise<string>>} */
  #assets = new Map();
  /** @type {any} */
  #view;

  /** @param {any} viewer */
  async view(viewer) {
    this.#view = viewer;
  }

  async start() {
    window.addEventListener("message", ({ data, source, origin }) => {
      if (source === window.parent && origin === location.origin && data.type === "model") void this.#open(data);
    });
    tell("ready");
  }

  /** @param {{name: string, bytes: ArrayBuffer}} model */
  async #open({ name, bytes }) {
    this.#view.show("welcome spinner");
    const stream = new base.BinaryStream(new Uint8Array(bytes));
    const context = {
      identifier: name,
      name,
      stream,
      asset: (/** @type {string} */ file) => this.asset(file),
      fetch: () => Promise.reject(new Error("the page has this file alone")),
      require: (/** @type {string} */ id) => this.require(id),
      error: () => {},
    };
    try {
      const model = await this.#view.open(context);
      this.#view.show(null);
      tell(model ? "shown" : "failed", model ? "" : "the viewer made nothing of it");
    } catch (error) {
      tell("failed", /** @type {Error} */ (error).message);
    }
  }

  /** @param {string} name */
  environment(name) {
    return { name: "Netron", repository: "", menu: false, packaged: false }[name];
  }

  /** @param {string} id such as "./onnx" */
  async require(id) {
    const name = id.replace("./", "");
    if (!MODULES.has(name)) throw new Error(`this page shows ONNX models, and has no ${name}`);
    return import(`./${name}.js`);
  }

  /** @param {string} id */
  worker(id) {
    return new Worker(new URL(`${id}.js`, import.meta.url), { type: "module" });
  }

  /** @param {string} file */
  asset(file) {
    let text = this.#assets.get(file);
    if (!text) {
      text = fetch(new URL(file, import.meta.url)).then((response) => {
        if (!response.ok) throw new Error(`${file}: ${response.status}`);
        return response.text();
      });
      this.#assets.set(file, text);
    }
    return text;
  }

  /**
   * @param {string} [text] none takes the message away
   * @param {boolean} [alert]
   * @param {string} [action]
   */
  async message(text = "", alert = false, action = "") {
    const { body } = document;
    const before = body.className;
    const label = /** @type {HTMLElement} */ (document.getElementById("message-text"));
    const button = /** @type {HTMLButtonElement} */ (document.getElementById("message-button"));
    label.innerText = text;
    button.hidden = !action;
    button.innerText = action;
    if (!text) return 0;
    if (alert) body.className = "alert";
    else body.classList.replace("default", "notification") || body.classList.add("notification");
    if (!action) return 0;
    return new Promise((resolve) => {
      button.onclick = () => {
        body.className = before;
        resolve(0);
      };
    });
  }

  /** @param {string} name */
  get(name) {
    return this.#settings.get(name);
  }

  /** @param {string} name @param {unknown} value */
  set(name, value) {
    this.#settings.set(name, value);
  }

  /** @param {string} name */
  delete(name) {
    this.#settings.delete(name);
  }

  event() {}
  exception() {}
  execute() {}
  openURL() {}
  update() {}
}

/** The viewer writes two styles as attributes, which the policy forbids; as properties it allows them. */
const setAttribute = Element.prototype.setAttribute;
Element.prototype.setAttribute = function (name, value) {
  if (name === "style" && "style" in this) /** @type {HTMLElement} */ (this).style.cssText = value;
  else setAttribute.call(this, name, value);
};

/** @param {"ready" | "shown" | "failed"} type @param {string} [message] */
function tell(type, message = "") {
  window.parent.postMessage({ type, message }, location.origin);
}

void new view.View(new Host()).start();
