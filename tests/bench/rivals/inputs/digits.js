// The digits example's preparation by hand: the ink cut out, fitted into 20 x 20 and put in the middle of 28 x 28.

const SIDE = 28;
const INNER = 20;
const INK = 30; // grey levels over the paper's

/** @param {string} url - of a drawing, light ink on dark paper */
export async function prepare(url) {
  const picture = await createImageBitmap(await (await fetch(url)).blob());
  const drawing = grey(picture, 0, 0, picture.width, picture.height, picture.width, picture.height);
  let [left, top, right, bottom] = [picture.width, picture.height, 0, 0];
  for (let y = 0; y < picture.height; y++) {
    for (let x = 0; x < picture.width; x++) {
      if (drawing[y * picture.width + x] <= INK) continue;
      [left, right] = [Math.min(left, x), Math.max(right, x + 1)];
      [top, bottom] = [Math.min(top, y), Math.max(bottom, y + 1)];
    }
  }
  const scale = INNER / Math.max(right - left, bottom - top);
  const [width, height] = [right - left, bottom - top].map((side) => Math.max(1, Math.round(side * scale)));
  const digit = grey(picture, left, top, right - left, bottom - top, width, height);
  let [sum, sumX, sumY] = [0, 0, 0];
  for (const [i, ink] of digit.entries()) {
    sum += ink;
    sumX += ink * ((i % width) + 0.5);
    sumY += ink * (Math.floor(i / width) + 0.5);
  }
  const x = Math.min(Math.max(Math.round(SIDE / 2 - sumX / sum), 0), SIDE - width);
  const y = Math.min(Math.max(Math.round(SIDE / 2 - sumY / sum), 0), SIDE - height);
  const data = new Float32Array(SIDE * SIDE);
  for (const [i, ink] of digit.entries()) data[(y + Math.floor(i / width)) * SIDE + x + (i % width)] = ink / 255;
  return { data, dims: [1, SIDE * SIDE] };
}

/** A part of a picture at another size, as grey levels. */
function grey(picture, left, top, fromWidth, fromHeight, width, height) {
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, left, top, fromWidth, fromHeight, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  return Float32Array.from({ length: width * height }, (_, i) => 0.299 * data[4 * i] + 0.587 * data[4 * i + 1] + 0.114 * data[4 * i + 2]);
}
