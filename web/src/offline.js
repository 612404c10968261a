/**
 * The page's side of the service worker: registers it, tells it what this app used, and passes on what it says.
 *
 * Everything here may be missing: a private window, an insecure origin, a full disk. The page then works as before, from
 * the network, and says why it will not work offline.
 */

/** @import { ClientEvents, FromServiceWorker, ToServiceWorker, Visited } from "./protocol.js" */

/** A browser may end a service worker in the middle of its work: what it was asked is asked again. */
const AGAIN_MS = 20_000;
/** So long may a look at what is kept delay the page's own words for a start that failed. */
const CHECK_MS = 15_000;

export class Offline {
  #root;
  #build;
  #emit;
  #announced = "";
  #forgotten = false;
  /** Whether this page itself came from what is kept: then it is not the first visit. */
  #returned;
  /** The last visit that was told. @type {{app: string, files: string[]} | undefined} */
  #visit;
  #workers;
  /** @type {Promise<ServiceWorkerRegistration | null>} */
  #registered;

  /**
   * @param {string} root absolute URL of the site's root
   * @param {string} build the id of the build that this page belongs to
   * @param {<E extends "update" | "offline" | "storage">(name: E, event: ClientEvents[E]) => void} emit
   */
  constructor(root, build, emit) {
    this.#root = root;
    this.#build = build;
    this.#emit = emit;
    this.#workers = container();
    this.#returned = Boolean(this.#workers?.controller);
    holdBuild(root, build);
    this.#registered = this.#register();
  }

  /** Whether files that are downloaded now may be wanted for the next visit. */
  get keeps() {
    return this.#workers !== undefined && !this.#forgotten;
  }

  /**
   * Keep what this visit used for the next one.
   * @param {string} app
   * @param {string[]} files as site.json names them
   */
  async visit(app, files) {
    this.#visit = { app, files };
    /** @type {Visited | null} */
    const answer = await this.#ask({ type: "visit", build: this.#build, app, files });
    if (!answer) return;
    if ("newer" in answer) return answer.newer ? this.#announce(answer.build) : undefined;
    this.#emit("offline", answer);
    if (answer.ready && this.#returned) void stay();
  }

  /** Have pages served without isolation headers from now on, and load this one again so. Nothing where the host sends them. */
  async stopIsolating() {
    if (!this.#workers?.controller) return;
    try {
      if (sessionStorage.getItem("onnxlet-isolation") === "off") return; // it was, and it did not help
      sessionStorage.setItem("onnxlet-isolation", "off");
    } catch {
      return; // nothing would end a page that reloads for ever
    }
    await this.#ask({ type: "isolate", on: false });
    location.reload();
    await new Promise(() => {}); // this page is over
  }

  /** Look at what is kept, after a start that failed with it. @returns {Promise<boolean>} whether something wrong was dropped */
  async check() {
    if (!this.#workers?.controller) return false;
    const late = new Promise((resolve) => setTimeout(resolve, CHECK_MS, 0));
    return (await Promise.race([this.#ask({ type: "check" }), late])) > 0;
  }

  /** Drop everything that is kept of this site, for all its apps. @returns {Promise<boolean>} whether that was possible */
  async forget() {
    this.#forgotten = true;
    return Boolean(await this.#ask({ type: "forget" }));
  }

  async #register() {
    const workers = this.#workers;
    if (!workers) {
      this.#emitLater("This browser or window keeps no files for offline use.");
      return null;
    }
    workers.addEventListener("message", ({ data }) => this.#hear(data));
    workers.startMessages?.();
    try {
      return await workers.register(new URL("sw.js", this.#root), { scope: this.#root, updateViaCache: "none" });
    } catch (error) {
      const registration = await workers.getRegistration(this.#root).catch(() => undefined);
      if (registration?.active) return registration; // the host is out of reach, or has no sw.js any more
      this.#emitLater(`This page will not work offline: ${error instanceof Error ? error.message : error}`);
      return null;
    }
  }

  /** @param {FromServiceWorker} message */
  #hear(message) {
    if (message.root !== this.#root) return;
    if (message.type === "storage") this.#emit("storage", message);
    else if (message.build !== this.#build) this.#announce(message.build);
    else if (this.#visit) void this.visit(this.#visit.app, this.#visit.files); // it took the place of another build's
  }

  /** @param {string} build */
  #announce(build) {
    if (build === this.#announced) return;
    this.#announced = build;
    this.#emit("update", { build });
  }

  /**
   * @param {ToServiceWorker} message
   * @returns {Promise<any>} its answer; null where there is no service worker, or nothing is to be kept any more
   */
  async #ask(message) {
    const registration = await this.#registered;
    if (!registration) return null;
    for (;;) {
      if (this.#forgotten && message.type !== "forget") return null;
      const worker = registration.active ?? (await this.#workers?.ready)?.active;
      const { port1, port2 } = new MessageChannel();
      const answered = new Promise((resolve) => (port1.onmessage = ({ data }) => resolve({ data })));
      worker?.postMessage(message, [port2]);
      const late = new Promise((resolve) => setTimeout(resolve, AGAIN_MS, null));
      const answer = await Promise.race([answered, late]);
      port1.close();
      if (answer) return answer.data;
    }
  }

  /** @param {string} reason why nothing is kept; told after the page had the chance to listen */
  #emitLater(reason) {
    setTimeout(() => this.#emit("offline", { ready: false, reason, bytes: 0 }));
  }
}

/** The browser's service workers; sandboxed frames throw. */
function container() {
  try {
    return navigator.serviceWorker;
  } catch {
    return undefined;
  }
}

/** Ask that the browser clears nothing of a site that is used again. Chromium decides by itself; others would ask the visitor. */
async function stay() {
  if (!("userAgentData" in navigator)) return;
  await navigator.storage?.persist?.().catch(() => false);
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
