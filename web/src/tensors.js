/**
 * Tensors as bytes: ONNX Runtime Web's type names and the typed array that carries each.
 * bfloat16, float8, 2- and 4-bit types have none: ONNX Runtime's JavaScript API cannot carry them.
 */

/** @typedef {[type: string, dims: number[], data: Uint8Array | string[]]} RawTensor bytes in C order, little-endian */

/** @type {Record<string, new (buffer: ArrayBufferLike, offset: number, length: number) => ArrayBufferView>} */
const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  bool: Uint8Array,
};

const ITEM_BYTES = /** @type {Record<string, number>} */ ({ float64: 8, int64: 8, uint64: 8, float32: 4, int32: 4, uint32: 4 });

/** @param {string} type */
export function itemBytes(type) {
  return ITEM_BYTES[type] ?? (/16$/.test(type) ? 2 : 1);
}

/**
 * The view that `new ort.Tensor(type, ...)` wants.
 * @param {string} type
 * @param {Uint8Array} bytes aligned to the item's size
 */
export function typed(type, bytes) {
  // ONNX Runtime takes Float16Array where the browser has it, and the bits in a Uint16Array only where it does not.
  const float16 = /** @type {any} */ (globalThis).Float16Array;
  const constructor = type === "float16" ? (float16?.from ? float16 : Uint16Array) : ARRAYS[type];
  if (!constructor) throw new TypeError(`ONNX Runtime Web has no tensors of ${type}`);
  return new constructor(bytes.buffer, bytes.byteOffset, bytes.byteLength / itemBytes(type));
}

/**
 * The bytes of a typed array, without a copy.
 * @param {ArrayBufferView} array
 */
export function bytesOf(array) {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/**
 * Tensors as JSON and buffers: strings ride in the JSON.
 * @param {RawTensor[]} tensors
 */
export function packed(tensors) {
  const heads = tensors.map(([type, dims, data]) => (Array.isArray(data) ? [type, dims, data] : [type, dims]));
  return { heads, buffers: tensors.flatMap(([, , data]) => (Array.isArray(data) ? [] : [data])) };
}

/**
 * The way back.
 * @param {[string, number[], string[]?][]} heads
 * @param {Uint8Array[]} buffers
 * @returns {RawTensor[]}
 */
export function unpacked(heads, buffers) {
  let i = 0;
  return heads.map(([type, dims, strings]) => [type, dims, strings ?? buffers[i++]]);
}
