/**
 * The page's side of the service worker: registers it, tells it what this app used, and passes on what it says.
 *
 * Everything here may be missing: a private window, an insecure origin, a full disk. The page then works as before, from
 * the network, and says why it will not work offline.
 */

/** @import { ClientEvents, FromServiceWorker, ToServiceWorker } from "./protocol.js" */

export class Offline {
  #root;
  #build;
  #emit;
  #announced = "";
  /** @type {Promise<ServiceWorkerRegistration | null>} */
  #registered;

  /**
   * @param {string} root absolute URL of the site's root
   * @param {string} build the id of the build that this page belongs to
   * @param {<E extends "update" | "offline">(name: E, event: ClientEvents[E]) => void} emit
   */
  constructor(root, build, emit) {
    this.#root = root;
    this.#build = build;
    this.#emit = emit;
    holdBuild(root, build);
    this.#registered = this.#register();
  }

  /**
   * Keep what this visit used for the next one.
   * @param {string} app
   * @param {string[]} files as site.json names them
   */
  async visit(app, files) {
    await this.#tell({ type: "visit", build: this.#build, app, files });
  }

  /** Have pages served without isolation headers from now on, and load this one again so. Nothing where the host sends them. */
  async stopIsolating() {
    if (!navigator.serviceWorker?.controller) return;
    if (sessionStorage.getItem("onnxlet-isolation") === "off") return; // it was, and it did not help
    sessionStorage.setItem("onnxlet-isolation", "off");
    await this.#tell({ type: "isolate", on: false });
    location.reload();
    await new Promise(() => {}); // this page is over
  }

  async #register() {
    const workers = navigator.serviceWorker;
    if (!workers) {
      this.#emitLater({ ready: false, reason: "This browser or window keeps no files for offline use." });
      return null;
    }
    workers.addEventListener("message", ({ data }) => this.#hear(data));
    workers.startMessages?.();
    try {
      const registration = await workers.register(new URL("sw.js", this.#root), { scope: this.#root, updateViaCache: "none" });
      return registration;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#emitLater({ ready: false, reason: `This page will not work offline: ${why}` });
      return null;
    }
  }

  /** @param {FromServiceWorker} message */
  #hear(message) {
    if (message.type === "offline" && message.build === this.#build) this.#emit("offline", message);
    if (message.type === "build" && message.build !== this.#build && message.build !== this.#announced) {
      this.#announced = message.build;
      this.#emit("update", { build: message.build });
    }
  }

  /** @param {ToServiceWorker} message */
  async #tell(message) {
    const registration = await this.#registered;
    if (!registration) return;
    const worker = registration.active ?? (await navigator.serviceWorker.ready).active;
    worker?.postMessage(message);
  }

  /** @param {ClientEvents["offline"]} event after the page had the chance to listen */
  #emitLater(event) {
    setTimeout(() => this.#emit("offline", event));
  }
}

/**
 * Hold a lock for as long as this page lives: the service worker keeps a build's files while somebody holds its lock.
 * @param {string} root
 * @param {string} build
 */
function holdBuild(root, build) {
  const locks = navigator.locks;
  locks?.request(`onnxlet ${root} ${build}`, { mode: "shared" }, () => new Promise(() => {})).catch(() => {});
}
