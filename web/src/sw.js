/**
 * The service worker of an onnxlet site: works offline after one visit, and never mixes two builds.
 *
 * One cache a build. A build's cache is filled whole for the apps that were visited before the build is used at all; pages
 * come from the newest such build, files with a hash in their name from whichever build has them. A build's cache goes when
 * a newer one is in place and no page of it lives (every page holds a Web Lock). Files are checked against site.json before
 * they are kept, and kept with the headers that a host may not send: the MIME type, isolation (COOP, COEP, CORP) and a
 * Content-Security-Policy. What the page fetched and checked is there already (keep.js). Nothing outside this scope's own
 * caches is touched.
 */

/// <reference lib="webworker" />
/** @import { FromServiceWorker, Site, ToServiceWorker } from "./protocol.js" */

const MANIFEST = "{{site}}";
const BUILD = "{{build}}";

const worker = /** @type {ServiceWorkerGlobalScope & typeof globalThis} */ (/** @type {unknown} */ (self));
const ROOT = worker.registration.scope;
/** A build's cache is called this and the build's id; so is the lock that the build's pages hold. */
const PREFIX = `onnxlet ${ROOT} `;
const SETTINGS = `onnxlet-settings ${ROOT}`;
/** An entry of a build's cache: the apps that are complete in it. Without it the build's pages are not served. */
const RECORD = new URL("__onnxlet__/record", ROOT).href;
/** An entry of the settings; its presence means: no isolation headers. */
const NO_ISOLATION = new URL("__onnxlet__/no-isolation", ROOT).href;

/** @typedef {{files: string[], groups: string[]}} Visit what an app used, as site.json names it */

const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval' blob:",
  "worker-src 'self' blob:",
  "connect-src 'self'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "style-src 'self'",
].join("; ");

/** @type {Record<string, string>} */
const TYPES = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  svg: "image/svg+xml",
  wasm: "application/wasm",
};

// ---- filling a build's cache ------------------------------------------------------------------------------------

/** @type {Promise<Cache> | undefined} */
let ownCache;

function own() {
  return (ownCache ??= caches.open(PREFIX + BUILD));
}

/** @returns {Promise<Site & {pages?: string[]}>} */
async function manifest() {
  const cache = await own();
  const url = new URL(MANIFEST, ROOT).href;
  const kept = await cache.match(url);
  if (kept) return kept.json();
  const response = await fetch(url, { cache: "no-cache" });
  if (!response.ok) throw new Error(`${MANIFEST}: the host answered ${response.status}`);
  const text = await response.text();
  const site = JSON.parse(text);
  if (site.build.id !== BUILD) throw new Error(`${MANIFEST} is of build ${site.build.id}, sw.js of ${BUILD}`);
  await cache.put(url, dressed(text, "json"));
  return site;
}

/**
 * @param {Cache} cache of a build
 * @returns {Promise<Record<string, Visit>>} by app
 */
async function visits(cache) {
  const record = await cache.match(RECORD);
  return record ? record.json() : {};
}

/**
 * Make apps complete in this build's cache: pages, the page's own files, what visits used, the examples.
 * @param {Site & {pages?: string[]}} site
 * @param {Record<string, Visit>} apps
 */
async function complete(site, apps) {
  const cache = await own();
  const wanted = new Set(Object.keys(site.files).filter((path) => site.files[path]?.group === "page"));
  for (const [name, { files }] of Object.entries(apps)) {
    for (const path of files) wanted.add(path);
    const app = site.apps.find((candidate) => candidate.name === name);
    for (const { buffers, output_buffers } of app?.examples ?? []) for (const path of [...buffers, ...output_buffers]) wanted.add(path);
  }
  for (const page of site.pages ?? site.apps.map((app) => app.page)) await keepPage(cache, page);
  for (const path of wanted) await keepFile(cache, path, site.files[path]);
  await cache.put(RECORD, new Response(JSON.stringify({ ...(await visits(cache)), ...apps })));
}

/**
 * @param {Cache} cache
 * @param {string} page
 */
async function keepPage(cache, page) {
  const url = new URL(page, ROOT).href;
  if (await cache.match(url)) return;
  const response = await fetch(url, { cache: "no-cache" });
  const text = await response.text();
  if (!response.ok || !text.includes(MANIFEST)) throw new Error(`${page} is not of build ${BUILD}: the host is being updated`);
  await cache.put(url, dressed(text, "html"));
}

/**
 * @param {Cache} cache
 * @param {string} path
 * @param {import("./protocol.js").SiteFile | undefined} expected
 */
async function keepFile(cache, path, expected) {
  const url = new URL(path, ROOT).href;
  if (!expected || (await cache.match(url))) return;
  const elsewhere = await fromAnyBuild(url);
  if (elsewhere) return cache.put(url, elsewhere); // the same name is the same contents
  for (const mode of /** @type {const} */ (["force-cache", "reload"])) {
    const response = await fetch(url, { cache: mode });
    const bytes = response.ok ? await response.arrayBuffer() : new ArrayBuffer(0);
    if (bytes.byteLength === expected.bytes && (await sha256(bytes)) === expected.sha256) {
      return cache.put(url, dressed(bytes, path.split(".").pop() ?? "", expected.sha256));
    }
  }
  throw new Error(`${path} is not what ${MANIFEST} says: the host is being updated, or the upload is incomplete`);
}

/** @param {ArrayBuffer} bytes */
async function sha256(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * @param {BodyInit} body
 * @param {string} extension
 * @param {string} [digest] that was checked
 */
function dressed(body, extension, digest) {
  const headers = new Headers({ "content-type": TYPES[extension] ?? "application/octet-stream" });
  headers.set("cross-origin-resource-policy", "same-origin");
  if (digest) headers.set("x-onnxlet-sha256", digest);
  if (extension === "js") {
    headers.set("content-security-policy", POLICY); // a worker obeys its own script's headers, not the page's
    isolate(headers);
  }
  return new Response(body, { headers });
}

/** @param {Headers} headers */
function isolate(headers) {
  headers.set("cross-origin-embedder-policy", "require-corp");
  headers.set("cross-origin-opener-policy", "same-origin");
}

// ---- builds -----------------------------------------------------------------------------------------------------

/** @returns {Promise<string[]>} the names of the other builds' caches in this scope */
async function otherBuilds() {
  return (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== PREFIX + BUILD);
}

/**
 * @param {string} url
 * @returns {Promise<Response | undefined>}
 */
async function fromAnyBuild(url) {
  const response = await (await own()).match(url, { ignoreSearch: true });
  if (response) return response;
  for (const name of await otherBuilds()) {
    const older = await (await caches.open(name)).match(url, { ignoreSearch: true });
    if (older) return older;
  }
  return undefined;
}

/** Drop the builds that no page of this scope uses any more; nothing while a newer one, which has no page yet, comes in. */
async function dropOld() {
  const arrives = () => Boolean(worker.registration.installing ?? worker.registration.waiting);
  const { held = [], pending = [] } = (await navigator.locks?.query()) ?? {};
  const used = new Set([...held, ...pending].map(({ name }) => name));
  for (const name of await otherBuilds()) if (!used.has(name) && !arrives()) await caches.delete(name);
}

/** The part of a former visit that this build can know: its files of the same groups. @param {Site} site */
async function formerVisits(site) {
  /** @type {Record<string, Visit>} */
  const apps = {};
  for (const name of await otherBuilds()) {
    for (const [app, { groups }] of Object.entries(await visits(await caches.open(name)))) {
      const files = Object.keys(site.files).filter((path) => groups.includes(site.files[path]?.group ?? ""));
      apps[app] = { files, groups };
    }
  }
  return apps;
}

/** @param {FromServiceWorker} message */
async function tellAll(message) {
  const pages = await worker.clients.matchAll({ includeUncontrolled: true, type: "window" });
  for (const page of pages) if (page.url.startsWith(ROOT)) page.postMessage(message);
}

// ---- events -----------------------------------------------------------------------------------------------------

worker.addEventListener("install", (event) => event.waitUntil(install()));
worker.addEventListener("activate", (event) => event.waitUntil(activate()));
worker.addEventListener("message", (event) => event.waitUntil(hear(event.data)));
worker.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(ROOT)) return;
  if (request.mode === "navigate") event.respondWith(page(request));
  else if (request.cache !== "reload") event.respondWith(file(request));
});

/** A build that replaces another takes over only when all that was visited before is there. */
async function install() {
  if ((await otherBuilds()).length) {
    try {
      const site = await manifest();
      const apps = await formerVisits(site);
      if (Object.keys(apps).length) await complete(site, apps);
    } catch (error) {
      await dropOwn();
      throw error;
    }
  }
  await worker.skipWaiting();
}

async function activate() {
  await worker.clients.claim();
  await dropOld();
  await tellAll({ type: "build", build: BUILD });
}

/** @param {ToServiceWorker} message */
async function hear(message) {
  if (message.type === "isolate") {
    const settings = await caches.open(SETTINGS);
    if (message.on) await settings.delete(NO_ISOLATION);
    else await settings.put(NO_ISOLATION, new Response("1"));
  } else if (message.build !== BUILD) {
    await tellAll({ type: "build", build: BUILD });
  } else {
    await tellAll({ type: "offline", build: BUILD, ...(await visit(message.app, message.files)) });
    await dropOld();
  }
}

/**
 * @param {string} app
 * @param {string[]} used
 */
async function visit(app, used) {
  try {
    const site = await manifest();
    const before = (await visits(await own()))[app] ?? { files: [], groups: [] };
    const groups = [...new Set([...before.groups, ...used.map((path) => site.files[path]?.group ?? "")])];
    // ONNX Runtime Web imports modules of its own, which nobody counts.
    const unseen = Object.keys(site.files).filter((path) => {
      const group = site.files[path]?.group ?? "";
      return group.startsWith("ort-") && groups.includes(group);
    });
    await complete(site, { [app]: { files: [...new Set([...before.files, ...used, ...unseen])], groups } });
    return { ready: true, reason: "Works without a network." };
  } catch (error) {
    const full = error instanceof DOMException && error.name === "QuotaExceededError";
    if (full && !(await (await own()).match(RECORD))) await dropOwn();
    const why = full ? "this browser gives the site too little space" : String(/** @type {any} */ (error)?.message ?? error);
    return { ready: false, reason: `Does not work offline yet: ${why}.` };
  }
}

async function dropOwn() {
  ownCache = undefined;
  await caches.delete(PREFIX + BUILD);
}

/** @param {Request} request */
async function page(request) {
  const kept = await keptPage(request.url).catch(() => undefined);
  const response = kept ?? (await fetch(request));
  if (response.type === "opaqueredirect" || !(kept || (await isOurs(request.url)))) return response;
  const headers = new Headers(response.headers);
  const refused = await caches.match(NO_ISOLATION, { cacheName: SETTINGS }).catch(() => undefined);
  if (!refused) isolate(headers);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

/**
 * Whether a page is the site's. Others may lie below its folder, such as pages that embed an app: isolation could break them.
 * @param {string} url
 */
async function isOurs(url) {
  const site = await manifest().catch(() => null);
  const name = new URL(url).pathname.slice(new URL(ROOT).pathname.length);
  const names = ["", "index.html", ...(site?.pages ?? [name])];
  return names.includes(name) || names.includes(`${name}.html`) || Boolean(site?.files[name]); // one that a frame shows
}

/** @param {string} url of a page, with or without index.html or .html */
async function keptPage(url) {
  const cache = await own();
  if (!(await cache.match(RECORD))) return undefined;
  const { origin, pathname } = new URL(url);
  const address = origin + (pathname.endsWith("/") ? `${pathname}index.html` : pathname);
  return (await cache.match(address)) ?? cache.match(`${address}.html`);
}

/** @param {Request} request */
async function file(request) {
  const kept = await fromAnyBuild(request.url).catch(() => undefined); // a full disk must not break the page
  const response = kept ?? (await fetch(request));
  if (kept || request.destination !== "worker") return response;
  const headers = new Headers(response.headers); // an isolated page may start only workers that are
  isolate(headers);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}
