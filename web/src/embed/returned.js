/**
 * What a function returned, as plain values.
 */

import { readNpy } from "../widgets/npy.js";
import { paintRgba } from "../widgets/picture.js";

/** @import { WireValue } from "../protocol.js" */

/** A picture or a mask: RGBA, or one level a pixel. */
class Picture {
  /**
   * @param {number} width
   * @param {number} height
   * @param {Uint8ClampedArray<ArrayBuffer>} data rows from the top
   */
  constructor(width, height, data) {
    this.width = width;
    this.height = height;
    this.data = data;
  }

  toImageData() {
    return new ImageData(this.#rgba(), this.width, this.height);
  }

  /** @param {string} [type] @param {number} [quality] @returns {Promise<Blob>} */
  toBlob(type = "image/png", quality = undefined) {
    const canvas = paintRgba(new Uint8Array(this.#rgba().buffer), this.width, this.height);
    return new Promise((resolve, reject) => {
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error(`the browser does not write ${type}`))), type, quality);
    });
  }

  /** Levels become grey. */
  #rgba() {
    const { data, width, height } = this;
    if (data.length === 4 * width * height) return data;
    const rgba = new Uint8ClampedArray(4 * width * height);
    data.forEach((level, i) => rgba.set([level, level, level, 255], 4 * i));
    return rgba;
  }
}

/** @type {Record<string, (display: WireValue, buffers: Uint8Array[]) => unknown>} */
const kinds = {
  labels: ({ items }) => items.map((/** @type {any} */ { label, score }) => ({ label, score: Number(score) })),
  boxes: ({ items }) =>
    items.map((/** @type {any} */ { label, score, box }) => ({ label, score: Number(score), box: box.map(Number) })),
  spans: ({ text, items }) => ({ text, items: items.map((/** @type {any} */ item) => ({ ...item, score: Number(item.score) })) }),
  text: ({ text }) => text,
  json: ({ text }) => parsed(text),
  table: ({ columns, rows }) => ({ columns, rows }),
  image: picture,
  mask: picture,
  audio({ sample_rate: sampleRate, channels: count, buffer }, buffers) {
    const data = new Float32Array(own(buffers[buffer ?? -1]));
    const length = data.length / count;
    const channels = Array.from({ length: count }, (_, c) => Float32Array.from({ length }, (_, i) => data[i * count + c] ?? 0));
    return { sampleRate, samples: channels[0] ?? new Float32Array(), channels };
  },
  tensor({ dtype, shape, buffer }, buffers) {
    return { dtype, shape, data: readNpy(buffers[buffer ?? -1] ?? new Uint8Array()) };
  },
};

/**
 * @param {WireValue} display
 * @param {Uint8Array[]} buffers
 * @returns {unknown}
 */
export function returned(display, buffers) {
  const read = kinds[display.kind];
  return read ? read(display, buffers) : display; // null is a value too
}

/** @param {WireValue} display @param {Uint8Array[]} buffers */
function picture({ width, height, buffer }, buffers) {
  return new Picture(width, height, new Uint8ClampedArray(own(buffers[buffer ?? -1])));
}

/** A copy that is aligned and nobody else's. @param {Uint8Array} [bytes] */
function own(bytes = new Uint8Array()) {
  return /** @type {ArrayBuffer} */ (bytes.slice().buffer);
}

/** JSON that JavaScript can hold; else its text: NaN and integers beyond 2^53 are no numbers there. @param {string} text */
function parsed(text) {
  const bare = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, ""); // what a text says is no number
  if (/(?<![\w.])\d{16,}(?![\w.])/.test(bare)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
