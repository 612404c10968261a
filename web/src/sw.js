/**
 * The service worker of an onnxlet site: works offline after one visit, and never mixes two builds.
 *
 * Files have a hash in their name, so all builds share one cache of them; what a newer build has in common with an older one
 * is there already. Pages lie in a cache a build. They come last, so a build's pages are served only when the
 * files of the apps that were visited before are all there. A build's cache goes when a newer one is in place and no page of
 * it lives (every page holds a Web Lock), and with it the files that no build has any more. Files are checked against
 * site.json before they are kept, and kept with the headers that a host may not send: the MIME type, isolation (COOP, COEP,
 * CORP) and a Content-Security-Policy; so a request is answered by one look into one cache. What the page fetched and checked
 * is there already (keep.js). Nothing outside this scope's own caches is touched.
 *
 * Caches are asked by name each time: a handle that is held goes on taking files after its cache was taken away.
 */

/// <reference lib="webworker" />
/** @import { FromServiceWorker, Site, ToServiceWorker } from "./protocol.js" */

const MANIFEST = "{{site}}";
const BUILD = "{{build}}";

const worker = /** @type {ServiceWorkerGlobalScope & typeof globalThis} */ (/** @type {unknown} */ (self));
const ROOT = worker.registration.scope;
/** How addresses begin that have a hash in them: files, and the manifests of builds. */
const HASHED = ["assets/", "site."].map((path) => new URL(path, ROOT).href);
const MANIFEST_URL = new URL(MANIFEST, ROOT).href;
/** A build's cache is called this and the build's id; so is the lock that the build's pages hold. */
const PREFIX = `onnxlet ${ROOT} `;
const OWN = { cacheName: PREFIX + BUILD };
/** Files of all builds, by address. keep.js knows this name. */
const FILES = { cacheName: `onnxlet-files ${ROOT}` };
const SETTINGS = { cacheName: `onnxlet-settings ${ROOT}` };
/** A header of what is kept: the sha256 that was right then; download.js believes it. */
const DIGEST = "x-onnxlet-sha256";
/** An entry of a build's cache: the apps that are complete in it. */
const RECORD = new URL("__onnxlet__/record", ROOT).href;
/** Entries of the settings. The presence of the first means: no isolation headers. The others hold times. */
const NO_ISOLATION = new URL("__onnxlet__/no-isolation", ROOT).href;
const CHECKED = new URL("__onnxlet__/checked", ROOT).href;
const GONE = new URL("__onnxlet__/gone", ROOT).href;

const DAY_MS = 24 * 60 * 60 * 1000;
const AT_ONCE = 6; // as many requests as browsers have connections to a host

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

// ---- answering --------------------------------------------------------------------------------------------------

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const { url } = request;
  if (request.method !== "GET") return;
  if (request.mode === "navigate" && url.startsWith(ROOT)) event.respondWith(page(request));
  else if (HASHED.some((start) => url.startsWith(start)) && request.cache !== "reload") event.respondWith(file(request));
});

/** @param {Request} request */
async function file(request) {
  const kept = await caches.match(request.url, FILES).catch(nothing); // a full disk must not break the page
  if (kept) return kept;
  const response = await fetch(request);
  return request.destination === "worker" ? isolated(response) : response; // an isolated page may start only such workers
}

/** @param {Request} request */
async function page(request) {
  const [kept, refused] = await Promise.all([keptPage(request.url), caches.match(NO_ISOLATION, SETTINGS)]).catch(() => []);
  if (kept) return refused ? withHeaders(kept, (headers) => isolate(headers, false)) : kept;
  const response = await fetch(request);
  const plain = refused || response.type === "opaqueredirect" || !(await isOurs(request.url));
  return plain ? response : isolated(response);
}

/** @param {string} url of a page, with or without index.html or .html */
async function keptPage(url) {
  const { origin, pathname } = new URL(url);
  const address = origin + (pathname.endsWith("/") ? `${pathname}index.html` : pathname);
  return (await caches.match(address, OWN)) ?? caches.match(`${address}.html`, OWN);
}

/**
 * Whether a page is the site's. Others may lie below its folder, such as pages that embed an app: isolation could break them.
 * @param {string} url
 */
async function isOurs(url) {
  const site = await manifest().catch(() => null);
  const name = new URL(url).pathname.slice(new URL(ROOT).pathname.length);
  const names = ["", "index.html", ...(site?.pages ?? [])];
  return names.includes(name) || names.includes(`${name}.html`) || Boolean(site?.files[name]); // one that a frame shows
}

/** @param {Response} response from the network */
function isolated(response) {
  return withHeaders(response, (headers) => isolate(headers, true));
}

/**
 * @param {Response} response
 * @param {(headers: Headers) => void} change
 */
function withHeaders(response, change) {
  const headers = new Headers(response.headers);
  change(headers);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

/** @param {Headers} headers @param {boolean} on */
function isolate(headers, on) {
  headers.set("cross-origin-embedder-policy", on ? "require-corp" : "unsafe-none");
  headers.set("cross-origin-opener-policy", on ? "same-origin" : "unsafe-none");
}

// ---- filling the caches -----------------------------------------------------------------------------------------

/** @returns {Promise<Site & {pages?: string[]}>} of this build, kept where there is room */
async function manifest() {
  const kept = await caches.match(MANIFEST_URL, FILES).then((response) => response?.json()).catch(nothing);
  if (kept) return kept;
  const response = await fetch(MANIFEST_URL, { cache: "no-cache" });
  if (!response.ok) throw new Error(`${MANIFEST}: the host answered ${response.status}`);
  const text = await response.text();
  const site = JSON.parse(text);
  if (site.build.id !== BUILD) throw new Error(`${MANIFEST} is of build ${site.build.id}, sw.js of ${BUILD}`);
  return site;
}

/**
 * @param {string} cacheName of a build
 * @returns {Promise<Record<string, Visit>>} by app
 */
async function visits(cacheName) {
  const record = await caches.match(RECORD, { cacheName });
  return record ? record.json().catch(() => ({})) : {};
}

/**
 * Make apps complete in this build: the page's own files, what visits used, the examples; then the pages.
 * @param {Site & {pages?: string[]}} site
 * @param {Record<string, Visit>} apps
 * @returns {Promise<number>} bytes of this build's files that are kept now
 */
async function complete(site, apps) {
  const wanted = new Set(Object.keys(site.files).filter((path) => site.files[path]?.group === "page"));
  for (const [name, { files }] of Object.entries(apps)) {
    for (const path of files) wanted.add(path);
    const app = site.apps.find((candidate) => candidate.name === name);
    for (const { buffers, output_buffers } of app?.examples ?? []) for (const path of [...buffers, ...output_buffers]) wanted.add(path);
  }
  const files = await caches.open(FILES.cacheName);
  const there = await paths(files);
  await inTurns([...wanted].filter((path) => path in site.files && !there.has(path)), async (path) => {
    await files.put(new URL(path, ROOT).href, await fetchFile(path, site.files[path]));
    there.add(path);
  });
  if (!there.has(MANIFEST)) await files.put(MANIFEST_URL, await dressed(JSON.stringify(site), "json"));
  const own = await caches.open(OWN.cacheName);
  const kept = await paths(own);
  const pages = (site.pages ?? site.apps.map((app) => app.page)).filter((name) => !kept.has(name));
  /** @type {[name: string, page: Response][]} */
  const dressedPages = [];
  await inTurns(pages, async (name) => void dressedPages.push([name, await fetchPage(name)]));
  for (const [name, response] of dressedPages) await own.put(new URL(name, ROOT).href, response);
  await own.put(RECORD, new Response(JSON.stringify({ ...(await visits(OWN.cacheName)), ...apps })));
  return [...there].reduce((sum, path) => sum + (site.files[path]?.bytes ?? 0), 0);
}

/** @param {Cache} cache @returns {Promise<Set<string>>} what is in it, as site.json names it */
async function paths(cache) {
  return new Set((await cache.keys()).map(({ url }) => decodeURIComponent(url.slice(ROOT.length))));
}

/**
 * @param {string[]} items
 * @param {(item: string) => Promise<void>} work several at once; what fails ends all
 */
async function inTurns(items, work) {
  const left = [...items];
  const one = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one)).finally(() => left.splice(0));
}

/** @param {string} name */
async function fetchPage(name) {
  const response = await fetch(new URL(name, ROOT).href, { cache: "no-cache" });
  const text = await response.text();
  if (!response.ok || !text.includes(MANIFEST)) throw new Error(`${name} is not of build ${BUILD}: the host is being updated`);
  return dressed(text, "html");
}

/**
 * @param {string} path
 * @param {import("./protocol.js").SiteFile | undefined} expected
 */
async function fetchFile(path, expected) {
  const url = new URL(path, ROOT).href;
  const ways = [() => fetchSmall(url, expected).then(bytesOf).catch(nothing), () => fetch(url, { cache: "reload" }).then(bytesOf)];
  for (const way of ways) {
    const bytes = await way();
    if (bytes && bytes.byteLength === expected?.bytes && (await sha256(bytes)) === expected.sha256) {
      return dressed(bytes, path.split(".").pop() ?? "", expected.sha256);
    }
  }
  throw new Error(`${path} is not what ${MANIFEST} says: the host is being updated, or the upload is incomplete`);
}

/** @param {Response} response */
async function bytesOf(response) {
  return response.ok ? response.arrayBuffer() : undefined;
}

/**
 * A file, or, where the host compresses nothing, the .gz beside it, decoded (transport.js does so for the page).
 * @param {string} url
 * @param {import("./protocol.js").SiteFile | undefined} expected
 */
async function fetchSmall(url, expected) {
  const response = await fetch(url, { cache: "force-cache" });
  const plain = !response.headers.has("content-encoding") && Number(response.headers.get("content-length")) === expected?.bytes;
  const kept = url.endsWith(".js"); // by the browser, when it imported it
  if (kept || !plain || !expected?.gz || !response.ok || typeof DecompressionStream !== "function") return response;
  response.body?.cancel().catch(nothing);
  const small = await fetch(`${url}.gz`, { cache: "force-cache" });
  if (!small.ok || !small.body || small.headers.has("content-encoding")) return small;
  return new Response(small.body.pipeThrough(new DecompressionStream("gzip")));
}

/** @param {ArrayBuffer | Uint8Array<ArrayBuffer>} bytes */
async function sha256(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * @param {ArrayBuffer | string} body
 * @param {string} extension
 * @param {string} [digest] of the body, where it is known
 */
async function dressed(body, extension, digest) {
  const headers = new Headers({ "content-type": TYPES[extension] ?? "application/octet-stream" });
  headers.set("cross-origin-resource-policy", "same-origin");
  headers.set(DIGEST, digest ?? (await sha256(typeof body === "string" ? new TextEncoder().encode(body) : body)));
  if (extension === "js") headers.set("content-security-policy", POLICY); // a worker obeys its own script's headers, not the page's
  if (extension === "js" || extension === "html") isolate(headers, true);
  return new Response(body, { headers });
}

// ---- builds -----------------------------------------------------------------------------------------------------

/** @returns {Promise<string[]>} the names of the other builds' caches in this scope */
async function otherBuilds() {
  return (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== OWN.cacheName);
}

/** Drop the builds that no page uses any more, then the files of theirs; nothing while a newer one comes in. */
async function dropOld() {
  const arrives = () => Boolean(worker.registration.installing ?? worker.registration.waiting);
  const { held = [], pending = [] } = (await navigator.locks?.query()) ?? {};
  const used = new Set([...held, ...pending].map(({ name = "" }) => name).filter((name) => name.startsWith(PREFIX)));
  const others = await otherBuilds();
  for (const name of others) if (!used.has(name) && !arrives()) await caches.delete(name);
  used.delete(OWN.cacheName);
  if (!others.length || used.size || arrives()) return;
  const site = await manifest();
  const files = await caches.open(FILES.cacheName);
  for (const path of await paths(files)) if (!(path in site.files) && path !== MANIFEST) await files.delete(new URL(path, ROOT).href);
}

/** The part of a former visit that this build can know: its files of the same groups. @param {Site} site */
async function formerVisits(site) {
  /** @type {Record<string, Visit>} */
  const apps = {};
  for (const name of await otherBuilds()) {
    for (const [app, { groups }] of Object.entries(await visits(name))) {
      const files = Object.keys(site.files).filter((path) => groups.includes(site.files[path]?.group ?? ""));
      apps[app] = { files, groups };
    }
  }
  return apps;
}

/** @param {{type: "build", build: string} | {type: "storage", what: "damaged" | "gone"}} message */
async function tellAll(message) {
  const pages = await worker.clients.matchAll({ includeUncontrolled: true, type: "window" });
  for (const page of pages) if (page.url.startsWith(ROOT)) page.postMessage(/** @type {FromServiceWorker} */ ({ ...message, root: ROOT }));
}

// ---- looking after what is kept ------------------------------------------------------------------------------------

/**
 * Drop what is no longer what was kept: the disk may have lost it, or other code of this origin changed it.
 * @returns {Promise<number>} how many entries were wrong
 */
async function check() {
  const site = await manifest();
  let wrong = 0;
  for (const { cacheName } of [FILES, OWN]) {
    const cache = await caches.open(cacheName);
    for (const path of await paths(cache)) {
      const url = new URL(path, ROOT).href;
      const response = url === RECORD ? undefined : await cache.match(url);
      if (!response) continue;
      const digest = await response.clone().arrayBuffer().then(sha256, () => "cannot be read");
      if (digest === (site.files[path]?.sha256 ?? response.headers.get(DIGEST))) continue;
      await cache.delete(url);
      wrong += 1;
    }
  }
  return wrong;
}

/**
 * What the host has now. Kept pages would outlive their site for ever, and hide what stands in its place: where their script
 * is gone, browsers only stop to look for a newer service worker.
 * @returns {Promise<"this build" | "another" | "nothing" | "unknown">}
 */
async function onHost() {
  const response = await fetch(worker.location.href, { cache: "no-store" }).catch(nothing);
  if (!response || response.redirected) return "unknown"; // no network, or one that asks for a login
  const html = response.headers.get("content-type")?.startsWith("text/html");
  if ([404, 410].includes(response.status) || (response.ok && html)) return "nothing";
  if (!response.ok) return "unknown";
  return (await response.text()).includes(BUILD) ? "this build" : "another";
}

/**
 * Whether a day or more lies between the first time that this was asked of an entry and now. Clocks may be set back.
 * @param {string} entry of the settings
 */
async function isDue(entry) {
  const settings = await caches.open(SETTINGS.cacheName);
  const since = Number(await (await settings.match(entry))?.text());
  if (since && Math.abs(Date.now() - since) < DAY_MS) return false;
  await settings.put(entry, new Response(String(Date.now())));
  return since > 0;
}

/** What nobody waits for, after a visit. */
async function tidy() {
  await dropOld();
  const host = await onHost();
  if (host === "nothing") {
    if (await isDue(GONE)) await forget(); // at two visits, a day apart: no accident of an upload
    return tellAll({ type: "storage", what: "gone" });
  }
  if (host !== "unknown") await caches.open(SETTINGS.cacheName).then((settings) => settings.delete(GONE));
  if (!(await isDue(CHECKED)) || !(await check())) return;
  await complete(await manifest(), await visits(OWN.cacheName));
  await tellAll({ type: "storage", what: "damaged" });
}

/** Leave this device: the next load comes from the host. */
async function forget() {
  for (const name of [...(await otherBuilds()), OWN.cacheName, FILES.cacheName, SETTINGS.cacheName]) await caches.delete(name);
  await worker.registration.unregister();
}

// ---- events -----------------------------------------------------------------------------------------------------

worker.addEventListener("install", (event) => event.waitUntil(install()));
worker.addEventListener("activate", (event) => event.waitUntil(activate()));
worker.addEventListener("message", (event) => {
  event.waitUntil(hear(event.data, (answer) => event.ports[0]?.postMessage(answer)).catch(nothing));
});

/** A build that replaces another takes over only when all that was visited before is there, or cannot be kept at all. */
async function install() {
  const older = await otherBuilds().catch(() => []);
  if (older.length) {
    try {
      const site = await manifest();
      const apps = await formerVisits(site);
      if (Object.keys(apps).length) await complete(site, apps);
    } catch (error) {
      await caches.delete(OWN.cacheName);
      if (!isFull(error)) throw error;
    }
  }
  await worker.skipWaiting();
}

async function activate() {
  await worker.clients.claim();
  await dropOld().catch(nothing);
  await tellAll({ type: "build", build: BUILD });
}

/** What pages ask, one after the other: two tabs would fetch the same files. @type {Promise<unknown>} */
let turns = Promise.resolve();

/**
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
function inTurn(work) {
  const mine = turns.then(work);
  turns = mine.catch(nothing);
  return mine;
}

/**
 * @param {ToServiceWorker} message
 * @param {(answer: any) => void} answer as protocol.d.ts says of each message
 */
async function hear(message, answer) {
  if (message.type === "isolate") {
    const settings = await caches.open(SETTINGS.cacheName);
    if (message.on) await settings.delete(NO_ISOLATION);
    else await settings.put(NO_ISOLATION, new Response("1"));
    answer(true);
  } else if (message.type === "check") answer(await inTurn(check).catch(() => 0));
  else if (message.type === "forget") answer(await inTurn(forget).then(() => true, () => false));
  // A page may come from the network before its own service worker is in place.
  else if (message.build !== BUILD) answer({ build: BUILD, newer: (await onHost()) !== "another" });
  else {
    answer({ build: BUILD, ...(await inTurn(() => visit(message.app, message.files))) });
    await inTurn(tidy);
  }
}

/**
 * @param {string} app
 * @param {string[]} used
 */
async function visit(app, used) {
  try {
    const site = await manifest();
    const before = (await visits(OWN.cacheName))[app] ?? { files: [], groups: [] };
    const groups = [...new Set([...before.groups, ...used.map((path) => site.files[path]?.group ?? "")])];
    // ONNX Runtime Web imports modules of its own, which nobody counts.
    const unseen = Object.keys(site.files).filter((path) => {
      const group = site.files[path]?.group ?? "";
      return group.startsWith("ort-") && groups.includes(group);
    });
    const bytes = await complete(site, { [app]: { files: [...new Set([...before.files, ...used, ...unseen])], groups } });
    return { ready: true, reason: "Works without a network.", bytes };
  } catch (error) {
    const why = isFull(error) ? "this browser gives the site too little space" : String(/** @type {any} */ (error)?.message ?? error);
    return { ready: false, reason: `Does not work offline yet: ${why}.`, bytes: 0 };
  }
}

/** @param {unknown} error */
function isFull(error) {
  return error instanceof DOMException && error.name === "QuotaExceededError";
}

/** @returns {undefined} */
function nothing() {
  return undefined;
}
