/**
 * Values of the form as inputs of a folded graph, exactly as the core's Python reads them (wire/inputs.py).
 * What Python would refuse, and pictures that only its decoders read right, are `Odd`: they wait for Python.
 */

import { Odd } from "./odd.js";
import { pixelsOfPng } from "./png.js";
import { drawStrokes } from "./strokes.js";

/** @import { DirectInput, FormField, WireValue } from "../protocol.js" */
/** @import { RawTensor } from "../tensors.js" */

/** @typedef {{width: number, height: number, data: Uint8Array}} Pixels RGBA, not premultiplied */

/**
 * @param {DirectInput} how
 * @param {FormField} field
 * @param {WireValue | null} wire
 * @param {Uint8Array[]} buffers
 * @returns {Promise<RawTensor>}
 * @throws {Odd}
 */
export async function tensorOf(how, field, wire, buffers) {
  if (how.kind === "number") return ["float64", [1], bytes(new Float64Array([number(field, wire)]))];
  if (how.kind === "choice") return ["int64", [1], bytes(new BigInt64Array([BigInt(choice(field, wire))]))];
  if (how.kind !== "pixels") throw new Odd(how.kind);
  const { width, height, data } = await pixels(field, wire, buffers);
  const long = Math.max(width, height);
  if (width * height > (how.pixels ?? 0) || long > (how.ratio ?? 0) * Math.min(width, height)) throw new Odd("size");
  return ["uint8", [height, width, 4], data];
}

/** @param {ArrayBufferView} array */
function bytes(array) {
  return new Uint8Array(array.buffer);
}

/** @param {FormField} field @param {WireValue | null} wire */
function given(field, wire) {
  if (wire !== null) return wire.value;
  if (field.required) throw new Odd("nothing given");
  return field.default;
}

/** @param {FormField} field @param {WireValue | null} wire */
function number(field, wire) {
  const value = given(field, wire);
  const { min = -Infinity, max = Infinity, integer } = field.options;
  const right = typeof value === "number" && Number.isFinite(value) && value >= min && value <= max;
  if (!right || (integer && !Number.isSafeInteger(value))) throw new Odd("number");
  return value;
}

/** @param {FormField} field @param {WireValue | null} wire */
function choice(field, wire) {
  const place = field.options.choices.indexOf(given(field, wire));
  if (place < 0) throw new Odd("choice");
  return place;
}

/**
 * @param {FormField} field
 * @param {WireValue | null} wire
 * @param {Uint8Array[]} buffers
 * @returns {Promise<Pixels>}
 */
async function pixels(field, wire, buffers) {
  if (!wire) throw new Odd("nothing given");
  if (wire.strokes) return drawing(field, wire);
  const data = buffers[wire.buffer ?? -1];
  if (!data) throw new Odd("buffer");
  if (wire.encoding !== "rgba") return pixelsOfPng(data);
  const { width, height } = wire;
  if (!(width >= 1 && height >= 1) || data.length !== width * height * 4) throw new Odd("rgba");
  return { width, height, data };
}

/** @param {FormField} field @param {WireValue} wire @returns {Pixels} */
function drawing(field, { width, height, strokes }) {
  if (field.kind !== "drawing") throw new Odd("strokes");
  const { ink, paper } = field.options;
  const levels = drawStrokes(width, height, strokes, ink, paper);
  const data = new Uint8Array(4 * levels.length);
  levels.forEach((level, i) => data.set([level, level, level, 255], 4 * i));
  return { width, height, data };
}
