/**
 * What JavaScript callers give, in wire form: by the kind of the parameter, and by what the value is.
 */

import { writeNpy } from "../widgets/npy.js";
import { decodeSound, isWav } from "../widgets/input/audio.js";

/** @import { FormField, WireValue } from "../protocol.js" */
/** @import { Given } from "../widgets/widget.js" */

/** @typedef {(value: any, field: FormField) => Promise<Given> | Given} Give */

/** @type {Record<string, Give>} */
const givers = {
  image: picture,
  drawing: (value, field) => (Array.isArray(value.strokes) ? plain({ ...value, kind: "drawing" }) : picture(value, field)),
  text: (value, { options }) => plain({ kind: "text", text: words(value, options.format === "json") }),
  number: (value) => plain({ kind: "number", value: numeric(value) }),
  toggle: (value) => plain({ kind: "toggle", value: Boolean(value) }),
  choice: (value) => plain({ kind: "choice", value: String(value) }),
  file: (value) => file("file", value),
  audio: sound,
  table,
  tensor,
};

/**
 * @param {FormField} field
 * @param {unknown} value
 * @returns {Promise<Given>}
 * @throws {Error} a sentence: what was expected, and what came
 */
export async function given(field, value) {
  const give = givers[field.kind];
  if (!give) throw new Error(`values of kind ${field.kind} cannot be given from JavaScript`);
  return give(value, field);
}

/** @param {WireValue} wire @returns {Given} */
function plain(wire) {
  return { wire, buffers: [] };
}

/** @param {unknown} value @param {boolean} json */
function words(value, json) {
  if (json && typeof value !== "string") return JSON.stringify(value);
  if (typeof value === "object") throw unfit("a text", value);
  return String(value);
}

/** @param {unknown} value */
function numeric(value) {
  if (typeof value === "bigint") return String(value); // Python reads every digit
  const number = typeof value === "string" && value.trim() === "" ? NaN : Number(value);
  if (Number.isNaN(number)) throw unfit("a number", value);
  return number;
}

/**
 * @param {string} kind
 * @param {any} value
 * @returns {Promise<Given>}
 */
async function file(kind, value) {
  const bytes = await bytesOf(value);
  if (!bytes) throw unfit("a File, a Blob or bytes", value);
  return { wire: { kind, buffer: 0, name: value.name ?? "", type: value.type ?? "" }, buffers: [bytes] };
}

/** @param {any} value @returns {Promise<Uint8Array | null>} */
async function bytesOf(value) {
  if (value instanceof Blob) return new Uint8Array(await value.arrayBuffer());
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  return ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : null;
}

/** @type {Give} */
async function picture(value, { kind }) {
  const drawn = await pixels(value);
  if (!drawn) return file(kind, value).catch(() => Promise.reject(unfit("a picture: a File, a Blob, bytes, ImageData, a canvas, an image", value)));
  const { width, height, data } = drawn;
  return { wire: { kind, width, height, buffer: 0, encoding: "rgba" }, buffers: [new Uint8Array(data.buffer, data.byteOffset, data.byteLength)] };
}

/**
 * The pixels of what has some, as the browser shows them.
 * @param {any} value
 * @returns {Promise<{width: number, height: number, data: Uint8ClampedArray | Uint8Array} | null>}
 */
async function pixels(value) {
  if (value instanceof ImageData) return value;
  if (value instanceof HTMLImageElement) await value.decode();
  const width = value.naturalWidth ?? value.videoWidth ?? value.displayWidth ?? value.width;
  const height = value.naturalHeight ?? value.videoHeight ?? value.displayHeight ?? value.height;
  if (value.data instanceof Uint8ClampedArray && value.data.length === 4 * width * height) return value; // what a function returned
  if (!drawable(value)) return null;
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context || !width || !height) throw new Error(`this picture is ${width} × ${height} pixels; wait until it is loaded`);
  context.drawImage(value, 0, 0, width, height);
  try {
    return context.getImageData(0, 0, width, height);
  } catch {
    throw new Error("the browser keeps the pixels of this picture secret, because it comes from another origin; give its file instead");
  }
}

/** @param {unknown} value @returns {value is CanvasImageSource} */
function drawable(value) {
  const kinds = ["HTMLImageElement", "HTMLCanvasElement", "HTMLVideoElement", "ImageBitmap", "OffscreenCanvas", "VideoFrame"];
  return kinds.some((kind) => {
    const constructor = /** @type {any} */ (globalThis)[kind];
    return typeof constructor === "function" && value instanceof constructor;
  });
}

/** @type {Give} */
async function sound(value) {
  if (typeof AudioBuffer === "function" && value instanceof AudioBuffer) {
    return samples(Array.from({ length: value.numberOfChannels }, (_, c) => value.getChannelData(c)), value.sampleRate);
  }
  if (value.sampleRate > 0 && (value.channels || value.samples)) {
    const channels = value.channels ?? (isNumbers(value.samples) ? [value.samples] : value.samples);
    return samples(Array.from(channels, (/** @type {any} */ channel) => Float32Array.from(channel)), value.sampleRate);
  }
  const bytes = await bytesOf(value);
  if (!bytes) throw unfit("a sound: a File, a Blob, bytes, an AudioBuffer or {samples, sampleRate}", value);
  const blob = new File([/** @type {any} */ (bytes)], value.name ?? "sound", { type: value.type ?? "" });
  return (await isWav(blob)) ? file("audio", blob) : decodeSound(blob);
}

/** @param {any} value whether it is one channel */
function isNumbers(value) {
  return ArrayBuffer.isView(value) || typeof value[0] === "number";
}

/** @param {Float32Array[]} channels @param {number} sampleRate @returns {Given} */
function samples(channels, sampleRate) {
  const [first = new Float32Array()] = channels;
  const data = new Float32Array(first.length * channels.length);
  channels.forEach((channel, c) => channel.forEach((sample, i) => (data[i * channels.length + c] = sample)));
  const wire = { kind: "audio", buffer: 0, encoding: "f32", sample_rate: sampleRate, channels: channels.length };
  return { wire, buffers: [new Uint8Array(data.buffer)] };
}

/** @type {Give} */
async function table(value) {
  if (typeof value === "string") return file("table", new File([value], "table.csv", { type: "text/csv" }));
  if (Array.isArray(value)) {
    const columns = [...new Set(value.flatMap((row) => Object.keys(row)))];
    return cells(columns, value.map((row) => columns.map((name) => row[name])));
  }
  if (Array.isArray(value.columns) && Array.isArray(value.rows)) return cells(value.columns, value.rows);
  return file("table", value).catch(() => Promise.reject(unfit("a table: {columns, rows}, a list of objects, CSV as text, or a file", value)));
}

/** @param {unknown[]} columns @param {unknown[][]} rows */
function cells(columns, rows) {
  const text = (/** @type {unknown} */ cell) => String(cell ?? "");
  return plain({ kind: "table", columns: columns.map(text), rows: rows.map((row) => row.map(text)) });
}

/** @type {Give} */
async function tensor(value) {
  if (value instanceof Blob || value instanceof ArrayBuffer) return file("tensor", value);
  const { dtype, shape, data } = ArrayBuffer.isView(value) ? { dtype: undefined, shape: [/** @type {any} */ (value).length], data: value } : value;
  if (!ArrayBuffer.isView(data) || !Array.isArray(shape)) throw unfit("a tensor: {data, shape}, a typed array or an .npy file", value);
  return { wire: { kind: "tensor", buffer: 0, name: "tensor.npy" }, buffers: [writeNpy(data, shape, dtype)] };
}

/** @param {string} expected @param {unknown} value */
function unfit(expected, value) {
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  return new Error(`expected ${expected}, got ${kind === "Object" ? "an object that is none" : kind}`);
}
