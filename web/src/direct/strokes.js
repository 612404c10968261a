/**
 * Strokes as pixels: the same arithmetic, in the same order, as the core's media/raster.py, so that levels are equal.
 * IEEE 754 defines every operation that is used, square roots too; float32 is where Python has float32.
 */

import { Odd } from "./odd.js";

const MAX_SIDE = 4096; // as in values/drawing.py
const MAX_POINTS = 200_000;

/**
 * @param {number} width
 * @param {number} height
 * @param {{size: number, points: number[]}[]} strokes points: x, y, x, y, ...
 * @param {number} ink grey level
 * @param {number} paper
 * @returns {Uint8Array} [height, width]
 * @throws {Odd}
 */
export function drawStrokes(width, height, strokes, ink, paper) {
  const side = (/** @type {number} */ n) => Number.isInteger(n) && n >= 1 && n <= MAX_SIDE;
  if (!side(width) || !side(height)) throw new Odd("size");
  const coverage = new Float32Array(width * height);
  let total = 0;
  for (const { size, points } of strokes) {
    if (!(size > 0 && size <= MAX_SIDE) || !points.length || points.length % 2 || !points.every(Number.isFinite)) throw new Odd("stroke");
    if ((total += points.length / 2) > MAX_POINTS) throw new Odd("points");
    const line = points.map((at) => Math.min(Math.max(at, -MAX_SIDE), 2 * MAX_SIDE));
    const last = Math.max(line.length - 2, 2); // one point is a dot
    for (let i = 0; i < last; i += 2) {
      const end = line.length > 2 ? i + 2 : i;
      segment(coverage, width, height, line[i], line[i + 1], line[end], line[end + 1], size / 2);
    }
  }
  const range = Math.fround(ink - paper);
  return Uint8Array.from(coverage, (share) => rounded(Math.fround(paper + Math.fround(range * share))));
}

/**
 * @param {Float32Array} coverage
 * @param {number} width
 * @param {number} height
 * @param {number} ax
 * @param {number} ay
 * @param {number} bx
 * @param {number} by
 * @param {number} radius
 */
function segment(coverage, width, height, ax, ay, bx, by, radius) {
  const within = (/** @type {number} */ at, /** @type {number} */ size) => Math.min(Math.max(at, 0), size);
  const x0 = within(Math.floor(Math.min(ax, bx) - radius - 1), width);
  const y0 = within(Math.floor(Math.min(ay, by) - radius - 1), height);
  const x1 = within(Math.ceil(Math.max(ax, bx) + radius + 1), width);
  const y1 = within(Math.ceil(Math.max(ay, by) + radius + 1), height);
  const dx = bx - ax;
  const dy = by - ay;
  const squared = dx * dx + dy * dy;
  for (let row = y0; row < y1; row += 1) {
    const y = row + 0.5 - ay;
    for (let column = x0; column < x1; column += 1) {
      const x = column + 0.5 - ax;
      const along = squared ? Math.min(Math.max((x * dx + y * dy) / squared, 0), 1) : 0;
      const offX = x - along * dx;
      const offY = y - along * dy;
      const share = Math.min(radius + 0.5 - Math.sqrt(offX * offX + offY * offY), 1);
      const at = row * width + column;
      if (share > coverage[at]) coverage[at] = share;
    }
  }
}

/** To the nearest whole number, halves to the even one. @param {number} value */
function rounded(value) {
  const below = Math.floor(value);
  const part = value - below;
  return part > 0.5 || (part === 0.5 && below % 2) ? below + 1 : below;
}
