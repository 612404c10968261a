/**
 * PNG to pixels, exactly: no colour management, nothing premultiplied, the same on every machine, which a canvas does not
 * promise. Kinds of PNG that pages are rarely given are left to Python. Source: https://www.w3.org/TR/png-3/.
 */

import { Odd } from "./odd.js";

/** @import { Pixels } from "./inputs.js" */

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** Samples a pixel, by colour type: grey, RGB, palette, grey and alpha, RGBA. @type {Record<number, number>} */
const SAMPLES = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
/** A picture that lies on its side, and one that moves. */
const OTHERS = ["eXIf", "acTL"];

/**
 * @param {Uint8Array} file
 * @returns {Promise<Pixels>}
 * @throws {Odd}
 */
export async function pixelsOfPng(file) {
  const { width, height, type, palette, alphas, data } = chunks(file);
  const samples = SAMPLES[type];
  const rows = await inflated(data);
  const stride = width * samples;
  if (rows.length !== height * (stride + 1)) throw new Odd("length");
  unfilter(rows, height, stride, samples);
  const pixels = new Uint8Array(4 * width * height);
  for (let y = 0, to = 0; y < height; y += 1) {
    let from = y * (stride + 1) + 1;
    for (let x = 0; x < width; x += 1, from += samples, to += 4) {
      if (type === 3) {
        const color = rows[from];
        if (3 * color >= palette.length) throw new Odd("palette");
        pixels[to] = palette[3 * color];
        pixels[to + 1] = palette[3 * color + 1];
        pixels[to + 2] = palette[3 * color + 2];
        pixels[to + 3] = alphas[color] ?? 255;
      } else {
        const grey = samples < 3;
        pixels[to] = rows[from];
        pixels[to + 1] = rows[grey ? from : from + 1];
        pixels[to + 2] = rows[grey ? from : from + 2];
        pixels[to + 3] = samples % 2 ? 255 : rows[from + samples - 1];
      }
    }
  }
  return { width, height, data: pixels };
}

/** @param {Uint8Array} file */
function chunks(file) {
  if (!SIGNATURE.every((byte, i) => file[i] === byte)) throw new Odd("no PNG");
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const head = { width: 0, height: 0, type: 0, palette: new Uint8Array(), alphas: new Uint8Array() };
  /** @type {Uint8Array<ArrayBuffer>[]} */
  const data = [];
  for (let at = 8; at + 12 <= file.length; ) {
    const size = view.getUint32(at);
    const name = String.fromCharCode(...file.subarray(at + 4, at + 8));
    const body = /** @type {Uint8Array<ArrayBuffer>} */ (file.subarray(at + 8, at + 8 + size));
    if (body.length !== size || OTHERS.includes(name)) throw new Odd(name);
    if (name === "IHDR") {
      const [depth, type, , , interlaced] = body.subarray(8);
      if (depth !== 8 || !(type in SAMPLES) || interlaced) throw new Odd("kind");
      Object.assign(head, { width: view.getUint32(at + 8), height: view.getUint32(at + 12), type });
    }
    if (name === "PLTE") head.palette = body;
    if (name === "tRNS") {
      if (head.type !== 3) throw new Odd("a colour that is transparent");
      head.alphas = body;
    }
    if (name === "IDAT") data.push(body);
    if (name === "IEND") break;
    at += 12 + size;
  }
  if (!head.width || !head.height || !data.length) throw new Odd("no picture");
  return { ...head, data };
}

/** The end of the stream is checked by its sum. @param {Uint8Array<ArrayBuffer>[]} parts */
async function inflated(parts) {
  const stream = new Blob(parts).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * Undo what each row says was done to it, in place. Rows begin with the number of their filter.
 * @param {Uint8Array} rows
 * @param {number} height
 * @param {number} stride bytes a row
 * @param {number} step bytes a pixel
 */
function unfilter(rows, height, stride, step) {
  for (let y = 0; y < height; y += 1) {
    const start = y * (stride + 1) + 1;
    const filter = rows[start - 1];
    if (filter > 4) throw new Odd("filter");
    if (filter === 0) continue;
    for (let i = 0; i < stride; i += 1) {
      const at = start + i;
      const left = i < step ? 0 : rows[at - step];
      const up = y ? rows[at - stride - 1] : 0;
      const corner = y && i >= step ? rows[at - stride - 1 - step] : 0;
      rows[at] += filter === 1 ? left : filter === 2 ? up : filter === 3 ? (left + up) >> 1 : paeth(left, up, corner);
    }
  }
}

/** @param {number} left @param {number} up @param {number} corner */
function paeth(left, up, corner) {
  const byLeft = Math.abs(up - corner);
  const byUp = Math.abs(left - corner);
  const byCorner = Math.abs(left + up - 2 * corner);
  if (byLeft <= byUp && byLeft <= byCorner) return left;
  return byUp <= byCorner ? up : corner;
}
