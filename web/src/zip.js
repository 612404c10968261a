/**
 * Reads zip files whose entries are stored, not compressed: what the build makes of the wheels that every start needs, so
 * that unpacking them is copying. A page has no other fast way: DecompressionStream is one promise an entry, and Python's
 * zipfile runs in WebAssembly.
 *
 * Format: APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12, 4.3.16. No zip64: nothing here comes near 4 GiB.
 */

const END = 0x06054b50;
const CENTRAL = 0x02014b50;
const END_BYTES = 22;
const COMMENT_MAX = 0xffff;

/**
 * @param {Uint8Array} zip
 * @returns {{name: string, data: Uint8Array}[] | null} files as views of `zip`; null where one of them is compressed
 * @throws {RangeError} not a zip file
 */
export function storedFiles(zip) {
  const view = new DataView(zip.buffer, zip.byteOffset, zip.byteLength);
  let end = zip.length - END_BYTES;
  const lowest = Math.max(0, end - COMMENT_MAX);
  while (end >= lowest && view.getUint32(end, true) !== END) end -= 1;
  if (end < lowest) throw new RangeError("not a zip file: it has no end of central directory");
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  const decoder = new TextDecoder();
  const files = [];
  for (let i = 0; i < count; i++) {
    if (view.getUint32(at, true) !== CENTRAL) throw new RangeError(`not a zip file: no entry at byte ${at}`);
    const method = view.getUint16(at + 10, true);
    const size = view.getUint32(at + 24, true);
    const nameLength = view.getUint16(at + 28, true);
    const local = view.getUint32(at + 42, true);
    const name = decoder.decode(zip.subarray(at + 46, at + 46 + nameLength));
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    if (method !== 0) return null;
    if (name.endsWith("/")) continue;
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    files.push({ name, data: zip.subarray(start, start + size) });
  }
  return files;
}
