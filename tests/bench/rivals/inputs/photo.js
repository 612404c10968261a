// The photo example's preparation by hand: the middle square at 224 x 224, (x - 127) / 128, channels first.

const SIDE = 224;

/** @param {string} url - of a picture */
export async function prepare(url) {
  const picture = await createImageBitmap(await (await fetch(url)).blob());
  const side = Math.min(picture.width, picture.height);
  const context = new OffscreenCanvas(SIDE, SIDE).getContext("2d", { willReadFrequently: true });
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, (picture.width - side) / 2, (picture.height - side) / 2, side, side, 0, 0, SIDE, SIDE);
  const rgba = context.getImageData(0, 0, SIDE, SIDE).data;
  const data = new Float32Array(3 * SIDE * SIDE);
  for (let i = 0; i < SIDE * SIDE; i++) {
    for (let channel = 0; channel < 3; channel++) data[channel * SIDE * SIDE + i] = (rgba[4 * i + channel] - 127) / 128;
  }
  return { data, dims: [1, 3, SIDE, SIDE] };
}
