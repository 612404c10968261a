/**
 * A picture: chosen, dropped, pasted or taken with the camera. It goes to Python as the file it is; decoding is Python's,
 * so that the page and the server see the same pixels. Where the app is live, the camera stays open, and its newest frame
 * goes there as pixels.
 */

import { liveCamera, stillCamera } from "../../media/camera.js";
import { button, h, icon } from "../../dom.js";
import { t } from "../../words.js";
import { FileBox, fileLine, fileOf, fileValue } from "./file-box.js";
import { paintRgba } from "../picture.js";

const FRAME_PX = 640; // more than most models look at, and little enough to copy many times a second

/** @type {import("../widget.js").MakeInput} */
export function image(field, context) {
  /** @type {import("../widget.js").Given | null} */
  let pixels = null; // an example given as pixels, not as a file
  const sources = field.options.sources ?? ["upload", "camera"];
  const camera = context.live
    ? liveCamera(field.options.frame_px ?? FRAME_PX, context, (open) => (box.element.hidden = open))
    : stillCamera((file) => box.take(file), context.complain);
  let asleep = false; // the camera goes on when the form is seen again
  const shoot = button({ onclick: () => void camera.open() }, icon("camera"), t(context.live ? "camera_live" : "camera"));
  const box = new FileBox(context, {
    symbol: "camera",
    prompt: "drop_image",
    choose: "choose_image",
    accept: "image/*",
    extras: sources.includes("camera") ? [shoot] : [],
    shown(file) {
      pixels = null;
      if (file) box.preview.replaceChildren(...preview(file));
    },
  });
  return {
    element: h("div", {}, camera.element, box.element),
    async value() {
      return camera.take() ?? pixels ?? (box.file && fileValue("image", box.file));
    },
    set(wire, buffers) {
      camera.close();
      if (wire.encoding !== "rgba") return box.set(fileOf(wire, buffers));
      const data = /** @type {Uint8Array} */ (buffers[wire.buffer ?? -1]);
      box.set(null);
      box.occupied(true);
      box.preview.replaceChildren(paintRgba(data, wire.width, wire.height));
      pixels = { wire: { ...wire, buffer: 0 }, buffers: [data] };
    },
    take(file) {
      if (!file.type.startsWith("image/")) return false;
      if (context.live) camera.close();
      return box.take(file);
    },
    rest() {
      asleep = camera.running();
      camera.close();
    },
    wake() {
      if (asleep) void camera.open();
      asleep = false;
    },
  };
}

/** @param {File} file */
function preview(file) {
  const url = URL.createObjectURL(file);
  const picture = h("img", { class: "picture", src: url, alt: file.name });
  const line = fileLine(file);
  picture.addEventListener("load", () => URL.revokeObjectURL(url));
  picture.addEventListener("error", () => {
    URL.revokeObjectURL(url);
    picture.remove();
    line.textContent = t("no_preview", { name: file.name });
  });
  return [picture, line];
}
