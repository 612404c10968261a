/**
 * Apps of a built site in any page: the build writes this file, under this name, at the site's root.
 *
 *     <script type="module" src="https://example.org/demo/onnxlet.js"></script>
 *     <onnxlet-app src="https://example.org/demo/digits.html"></onnxlet-app>
 *
 *     import { load } from "https://example.org/demo/onnxlet.js";
 *     const app = await load("digits");
 *     const labels = await app.classify(file);
 *
 * It has no contents of its own: the site's manifest is asked for anew each time, and says where the modules of that build
 * lie. So pages that embed an app need no change when the site is built again. Types: onnxlet.d.ts; docs/embedding.md.
 */

/** @import { LoadOptions } from "../types/onnxlet.js" */
/** @import { Mounted } from "./embed/element.js" */
/** @import { Site, SiteApp } from "./protocol.js" */

/** The site that this file lies in. */
const HERE = new URL("./", import.meta.url);

/** @typedef {{site: Site, root: string, app: SiteApp, module: (name: string) => Promise<any>}} Found */

/** Manifests by address: elements of one page that come up together ask once. @type {Map<string, Promise<Site | null>>} */
const manifests = new Map();

/**
 * Start an app.
 * @param {string | URL} [address] of a site's root or of an app's page; or an app's name, in the site of this file
 * @param {LoadOptions} [options]
 * @returns {Promise<any>} the app, with a method for each of its functions
 * @throws {Error} with Python's class, or one of the page's, in `name`
 */
export async function load(address = HERE, options = {}) {
  const { site, root, app, module } = await find(address, options.app);
  const { loadApp } = await module("embed/app.js");
  return loadApp(site, root, app, options);
}

/**
 * @param {string | URL} address
 * @param {string} [name] of the app
 * @returns {Promise<Found>}
 */
async function find(address, name) {
  const named = typeof address === "string" && /^[\w-]+$/.test(address);
  const url = named ? HERE : new URL(address, document.baseURI);
  url.search = url.hash = "";
  const last = (url.pathname.split("/").pop() ?? "").replace(/^index\.html$/, "");
  /** @type {[root: URL, page: string][]} what an address may mean: a folder without its slash, a page without .html */
  const meanings = [[new URL("./", url), last]];
  if (last && !last.endsWith(".html")) meanings.unshift([new URL(`${last}/`, url), ""]);
  for (const [root, page] of meanings) {
    const site = await manifest(root);
    if (!site) continue;
    const app = appOf(site, name ?? (named ? address : ""), page);
    const wanted = name ?? (named ? address : page);
    if (!app && !wanted) throw fault(`${url.href}: this site has several apps; name one: ${listed(site)}`);
    if (!app) throw fault(`${url.href}: this site has no app "${wanted}"; it has ${listed(site)}`);
    return { site, root: root.href, app, module: (file) => import(new URL(moduleOf(site, file), root).href) };
  }
  throw fault(`${url.href}: there is no site.json beside it that this page may read. Expected the address of a site that onnxlet ` +
    `built, or of one of its pages; a site of another origin has to send Access-Control-Allow-Origin with its files.`);
}

/**
 * @param {URL} root
 * @returns {Promise<Site | null>} null where there is none
 */
function manifest(root) {
  const { href } = new URL("site.json", root);
  const known = manifests.get(href);
  if (known) return known;
  const asked = fetch(href, { cache: "no-cache" }).then(
    async (response) => {
      const site = response.ok ? await response.json().catch(() => null) : null;
      return Array.isArray(site?.apps) ? site : null;
    },
    () => null,
  );
  manifests.set(href, asked);
  void asked.then((site) => site ?? manifests.delete(href)); // what failed may be there the next time
  return asked;
}

/**
 * @param {Site} site
 * @param {string} name
 * @param {string} page
 */
function appOf(site, name, page) {
  if (name) return site.apps.find((app) => app.name === name);
  const [only] = site.apps;
  if (site.apps.length === 1 && (!page || page === only?.page)) return only;
  return site.apps.find((app) => page !== "" && (app.page === page || app.page === `${page}.html`));
}

/** @param {Site} site */
function listed(site) {
  return site.apps.map(({ name }) => `"${name}"`).join(", ");
}

/** @param {Site} site @param {string} name */
function moduleOf(site, name) {
  const path = Object.keys(site.files).find((file) => site.files[file]?.group === "page" && file.endsWith(`/${name}`));
  if (!path) throw fault(`this site was built by onnxlet ${site.build.onnxlet}, which has no ${name}; build it again`);
  return path;
}

/** @param {string} message */
function fault(message) {
  return Object.assign(new Error(message), { name: "StartError" });
}

/** `<onnxlet-app src="...">`: an app's form and results, drawn by the modules of the site that it comes from. */
class OnnxletApp extends HTMLElement {
  static observedAttributes = ["src", "app", "function", "backend", "theme", "title-less"];
  /** @type {Mounted | null} */
  #mounted = null;
  #wanted = 0;
  /** @type {IntersectionObserver | null} */
  #watch = null;

  /** The app as `load` gives it, once "ready" was told; null before. */
  get app() {
    return this.#mounted?.app ?? null;
  }

  connectedCallback() {
    if (this.#mounted) return this.#mounted.theme(); // it has only been moved
    if (this.getAttribute("loading") !== "lazy" || typeof IntersectionObserver !== "function") return this.#renew();
    this.#watch = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) this.#renew();
    }, { rootMargin: "200px" });
    this.#watch.observe(this);
  }

  disconnectedCallback() {
    this.#watch?.disconnect();
    queueMicrotask(() => {
      if (this.isConnected) return;
      this.#wanted += 1;
      this.#clear();
    });
  }

  /** @param {string} name @param {string | null} before @param {string | null} after */
  attributeChangedCallback(name, before, after) {
    if (!this.#mounted || before === after) return;
    if (name === "theme") this.#mounted.theme();
    else this.#renew();
  }

  #clear() {
    this.#mounted?.close();
    this.#mounted = null;
  }

  #renew() {
    this.#watch?.disconnect();
    this.#watch = null;
    this.#wanted += 1;
    const wanted = this.#wanted;
    queueMicrotask(async () => { // attributes that are set together count once
      if (wanted !== this.#wanted) return;
      this.#clear();
      try {
        const found = await find(this.getAttribute("src") ?? HERE, this.getAttribute("app") ?? undefined);
        const { mount } = await found.module("embed/element.js");
        if (wanted === this.#wanted) this.#mounted = mount(this, found.site, found.root, found.app);
      } catch (error) {
        if (wanted === this.#wanted) this.#fail(/** @type {Error} */ (error));
      }
    });
  }

  /** Says why nothing can be shown; without a site there are no styles and no words. @param {Error} error */
  #fail(error) {
    const shadow = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    const line = document.createElement("p");
    line.setAttribute("role", "alert");
    line.textContent = error.message;
    shadow.replaceChildren(line);
    this.dispatchEvent(new CustomEvent("error", { detail: error }));
  }
}

if (!customElements.get("onnxlet-app")) customElements.define("onnxlet-app", OnnxletApp);
