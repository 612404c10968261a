/**
 * Reads NumPy's .npy files as far as the page shows them: header, and numbers for statistics.
 * Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 */

/** @typedef {{descr: string, shape: number[], offset: number}} Header */

/**
 * @param {Uint8Array} data - at least the header
 * @returns {Header | null} null when this is no .npy file
 */
export function readHeader(data) {
  const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
  if (data.length < 12 || magic.some((byte, i) => data[i] !== byte)) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const long = view.getUint8(6) > 1; // format 2 and 3 have a 4-byte length
  const start = long ? 12 : 10;
  const offset = start + (long ? view.getUint32(8, true) : view.getUint16(8, true));
  const text = new TextDecoder("latin1").decode(data.subarray(start, offset));
  const descr = /'descr':\s*'([^']+)'/.exec(text)?.[1];
  const shape = /'shape':\s*\(([^)]*)\)/.exec(text)?.[1];
  if (descr === undefined || shape === undefined) return null;
  return { descr, offset, shape: shape.split(",").filter((size) => size.trim()).map(Number) };
}

/** @type {Record<string, new (buffer: ArrayBuffer) => ArrayLike<number | bigint>>} */
const arrays = {
  "<f4": Float32Array, "<f8": Float64Array, "|i1": Int8Array, "|u1": Uint8Array, "|b1": Uint8Array,
  "<i2": Int16Array, "<u2": Uint16Array, "<i4": Int32Array, "<u4": Uint32Array, "<i8": BigInt64Array, "<u8": BigUint64Array,
};

/**
 * Smallest, mean and largest of the finite values.
 * @param {Uint8Array} data - a whole .npy file
 * @returns {{min: number, mean: number, max: number, odd: number} | null} `odd` counts NaN and infinity; null where
 *   the dtype is not numeric here or nothing is finite
 */
export function statistics(data) {
  const header = readHeader(data);
  const Numbers = header && arrays[header.descr];
  if (!Numbers) return null;
  const values = new Numbers(data.slice(header.offset).buffer);
  let [min, max, sum, odd] = [Infinity, -Infinity, 0, 0];
  for (let i = 0; i < values.length; i += 1) {
    const value = Number(values[i]);
    if (!Number.isFinite(value)) {
      odd += 1;
      continue;
    }
    if (value < min) min = value;
    if (value > max) max = value;
    sum += value;
  }
  const finite = values.length - odd;
  return finite ? { min, mean: sum / finite, max, odd } : null;
}
