/**
 * Reads NumPy's .npy files as far as the page shows them: header, and numbers for statistics; writes those of numbers.
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
 * The values, in a typed array of their own; float16 as bits in a Uint16Array where the browser has no Float16Array.
 * @param {Uint8Array} data - a whole .npy file
 * @returns {ArrayLike<number | bigint>} bytes where there is no typed array for the dtype
 */
export function readNpy(data) {
  const header = readHeader(data);
  const content = data.slice(header?.offset ?? 0).buffer;
  const Numbers = header ? (header.descr === "<f2" ? Half : arrays[header.descr]) : undefined;
  return Numbers ? new Numbers(content) : new Uint8Array(content);
}

const Half = /** @type {any} */ (globalThis).Float16Array ?? Uint16Array;

/**
 * @param {ArrayBufferView} values - in C order
 * @param {number[]} shape
 * @param {string} [dtype] - "bool", or "float16" for bits in a Uint16Array; else the array's own type
 * @returns {Uint8Array} an .npy file, format 1.0
 * @throws {Error} numpy has no such type, or there are more or fewer values
 */
export function writeNpy(values, shape, dtype) {
  const special = { bool: "|b1", float16: "<f2" }[dtype ?? ""];
  const [descr] = Object.entries(arrays).find(([, Numbers]) => values instanceof Numbers) ?? [values instanceof Half ? "<f2" : ""];
  if (!descr && !special) throw new Error(`numpy has no type for ${Object.prototype.toString.call(values).slice(8, -1)}`);
  const count = shape.reduce((product, size) => product * size, 1);
  const length = /** @type {any} */ (values).length;
  if (length !== count) throw new Error(`expected ${count} values for the shape [${shape.join(", ")}], got ${length}`);
  const text = `{'descr': '${special ?? descr}', 'fortran_order': False, 'shape': (${shape.join(", ")}${shape.length === 1 ? "," : ""}), }`;
  const header = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11) + "\n"; // data at a multiple of 64
  const head = Uint8Array.from(`\x93NUMPY\x01\0..${header}`, (character) => character.charCodeAt(0));
  new DataView(head.buffer).setUint16(8, header.length, true);
  const file = new Uint8Array(head.length + values.byteLength);
  file.set(head);
  file.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), head.length);
  return file;
}

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
