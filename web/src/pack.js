/**
 * Reads packs: gzipped tar files, which the build makes of the packages that every start needs (wasm/precompile.py).
 *
 * One stream inflates everything at once, beside the other downloads; a zip file would take a stream for each of its files,
 * or Python's zipfile inside WebAssembly. Format: POSIX.1-1988 ustar, as Python's tarfile writes it.
 */

const BLOCK = 512;

/**
 * @param {Uint8Array<ArrayBuffer>} pack
 * @returns {Promise<{name: string, data: Uint8Array}[] | null>} files as views of one buffer; null where the browser has no
 *   DecompressionStream
 */
export async function unpack(pack) {
  if (typeof DecompressionStream !== "function") return null;
  const stream = new Blob([pack]).stream().pipeThrough(new DecompressionStream("gzip"));
  const tar = new Uint8Array(await new Response(stream).arrayBuffer());
  const decoder = new TextDecoder();
  const text = (/** @type {number} */ start, /** @type {number} */ length) =>
    decoder.decode(tar.subarray(start, start + length)).replace(/\0.*$/s, "");
  const files = [];
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0; ) {
    const prefix = text(at + 345, 155);
    const name = text(at, 100);
    const size = parseInt(text(at + 124, 12), 8);
    const data = tar.subarray(at + BLOCK, at + BLOCK + size);
    files.push({ name: prefix ? `${prefix}/${name}` : name, data });
    at += BLOCK * (1 + Math.ceil(size / BLOCK));
  }
  return files;
}
