/**
 * How a file of the site comes over the wire: as the host sends it, or as the .gz beside it where the host compresses nothing.
 *
 * Some hosts compress no file, and most leave out what they do not know, such as .onnx. There the .gz that the build has
 * written costs a visitor a fourth of the bytes. A host is judged by what it sends: a file whose Content-Length is that of
 * its contents came as it is. The first such file of a kind is let go at its headers, later ones are asked for as .gz at once.
 * Whatever is wrong with a .gz, the file itself is what counts: it is fetched instead, or when `download` tries again.
 */

/** @import { SiteFile } from "./protocol.js" */

/** The service worker's mark on a file whose sha256 it has checked; site.json's own value has to stand in it. */
export const VERIFIED = "x-onnxlet-sha256";
/** Text of this size comes compressed from every host that compresses at all. */
const TELLING_BYTES = 4096;

/** The network itself: seam.js puts another `fetch` in place, which ends here. */
export const network = globalThis.fetch.bind(globalThis);

/** What is known of an origin: the kinds of file that it sends as they are ("*" for all), and whether a .gz was missing. */
class Habits {
  /** @type {Set<string>} */
  plain = new Set();
  incomplete = false;

  /** @param {string} kind */
  sends(kind) {
    return this.plain.has("*") || this.plain.has(kind);
  }
}

/** @type {Map<string, Habits>} */
const origins = new Map();

/**
 * @param {string} url
 * @returns {Habits}
 */
function habitsOf(url) {
  const { origin } = new URL(url);
  const habits = origins.get(origin) ?? guess(origin);
  origins.set(origin, habits);
  return habits;
}

/**
 * What this thread knows of a host, for another one. A worker is not told how its modules came.
 * @param {string} root absolute URL
 * @returns {string[]} the kinds of file that come without compression, as `learn` takes them
 */
export function learned(root) {
  return [...habitsOf(root).plain];
}

/**
 * @param {string} root absolute URL
 * @param {string[]} kinds of file that come without compression
 */
export function learn(root, kinds) {
  for (const kind of kinds) habitsOf(root).plain.add(kind);
}

/**
 * Fetch a file of the site in the smallest form that the host has.
 * @param {string} url
 * @param {SiteFile} expected `gz` is there when a .gz is worth it; `cache: "reload"` in `init` asks for the file itself
 * @param {RequestInit} [init]
 * @param {Response} [begun] what the host answered already; its body is perhaps let go, because it came without compression
 * @returns {Promise<Response>} its body is the file, decoded, and its type right for `compileStreaming` where that came as .gz
 */
export async function fetchFile(url, expected, init = {}, begun) {
  const habits = habitsOf(url);
  const wanted = expected.gz !== undefined && init.cache !== "reload" && typeof DecompressionStream === "function";
  if (!wanted || habits.incomplete) return begun && !begun.bodyUsed ? begun : network(url, init);
  const kind = url.slice(url.lastIndexOf(".") + 1);
  if (begun || !habits.sends(kind)) {
    const response = begun ?? (await network(url, init));
    if (!response.bodyUsed) {
      if (!response.body || !isPlain(response, expected)) return response;
      response.body.cancel().catch(() => {});
    }
    habits.plain.add(kind);
  }
  const response = await network(`${url}.gz`, init);
  if (response.ok && response.body && !/html/.test(response.headers.get("content-type") ?? "")) return gunzipped(response, kind);
  habits.incomplete = true;
  return network(url, init);
}

/**
 * Whether the host's pages and modules came without compression, which no host that compresses does.
 * @param {string} origin
 */
function guess(origin) {
  const habits = new Habits();
  for (const entry of /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByType("resource"))) {
    const { name, workerStart, encodedBodySize, decodedBodySize } = entry;
    if (workerStart > 0 || decodedBodySize < TELLING_BYTES || !name.startsWith(`${origin}/`)) continue;
    if (/\.(js|css|json)$/.test(name) && encodedBodySize === decodedBodySize) habits.plain.add("*");
  }
  return habits;
}

/**
 * @param {Response} response
 * @param {SiteFile} expected
 */
function isPlain({ ok, headers }, expected) {
  const encoded = headers.has("content-encoding") || headers.has(VERIFIED);
  return ok && !encoded && Number(headers.get("content-length")) === expected.bytes;
}

/**
 * @param {Response} response of a .gz
 * @param {string} kind
 */
function gunzipped(response, kind) {
  const encoded = response.headers.has("content-encoding"); // then the browser has decoded it
  const body = encoded ? response.body : response.body?.pipeThrough(new DecompressionStream("gzip"));
  return new Response(body, { headers: { "content-type": kind === "wasm" ? "application/wasm" : "application/octet-stream" } });
}
