/**
 * Reads packs: tar files, which the build makes of the packages that every start needs (py/onnxlet_build/precompile.py).
 *
 * They are not compressed: that is the host's part, which does it better, and nothing here has to be inflated.
 * Format: POSIX.1-1988 ustar, as Python's tarfile writes it.
 */

const BLOCK = 512;

/**
 * @param {Uint8Array} tar
 * @returns {{name: string, data: Uint8Array}[]} files as views of it
 */
export function unpack(tar) {
  const decoder = new TextDecoder();
  const text = (/** @type {number} */ start, /** @type {number} */ length) => {
    const field = tar.subarray(start, start + length);
    const end = field.indexOf(0);
    return decoder.decode(end < 0 ? field : field.subarray(0, end));
  };
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
