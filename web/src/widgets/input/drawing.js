/**
 * A drawing pad. What goes to Python is the strokes, in the pad's own units, not pixels: the core draws them, so the page
 * and the server get the same picture whatever the screen. An example may be a picture instead; drawing starts afresh.
 */

import { button, h, icon } from "../../dom.js";
import { t } from "../../words.js";
import { fileOf, fileValue } from "./file-box.js";
import { paintRgba } from "../picture.js";

/** @typedef {{size: number, points: number[]}} Stroke points: x, y, x, y, ... in the pad's units */

const BACKING = 640; // pixels along the longer side: sharp on every screen, small enough to repaint in a frame

/** @type {import("../widget.js").MakeInput} */
export function drawing(field, context) {
  const pad = new Pad(field.options, context.changed, context.live);
  return {
    element: pad.element,
    async value() {
      if (pad.background) return pad.background;
      if (pad.strokes.length === 0) return null;
      const { width, height, strokes } = pad;
      return { wire: { kind: "drawing", width, height, strokes: structuredClone(strokes) }, buffers: [] };
    },
    set(wire, buffers) {
      if (wire.strokes) pad.show(/** @type {Stroke[]} */ (wire.strokes), null, null);
      else void pad.showPicture(wire, buffers);
    },
    take(file) {
      if (!file.type.startsWith("image/")) return false;
      void fileValue("image", file)
        .then(({ wire, buffers }) => pad.showPicture(wire, buffers))
        .then(context.changed);
      return true;
    },
  };
}

class Pad {
  /** @type {Stroke[]} */
  strokes = [];
  /** A picture in the place of strokes. @type {import("../widget.js").Given | null} */
  background = null;
  #changed;
  #live;
  #scale;
  #ink;
  #paper;
  #size;
  /** @type {CanvasImageSource | null} */
  #picture = null;
  /** @type {Stroke[][]} */
  #past = [];
  #canvas = h("canvas", { class: "pad-canvas", tabindex: 0, role: "img", "aria-label": t("pad") });
  #hint = h("span", { class: "pad-hint", "aria-hidden": "true" }, t("pad_hint"));
  #undo = button({ class: "button quiet", disabled: true, onclick: () => this.#back() }, icon("undo"), t("undo"));
  #clear = button({ class: "button quiet", disabled: true, onclick: () => this.#wipe() }, icon("clear"), t("clear"));

  /**
   * @param {Record<string, any>} options - of the form's field
   * @param {() => void} changed
   * @param {boolean} live - whether a change in the middle of a stroke counts
   */
  constructor(options, changed, live) {
    this.#live = live;
    this.width = Number(options.width ?? 280);
    this.height = Number(options.height ?? 280);
    this.#size = Number(options.stroke ?? Math.max(this.width, this.height) / 14);
    this.#ink = grey(options.ink ?? 0);
    this.#paper = grey(options.paper ?? 255);
    this.#changed = changed;
    this.#scale = Math.max(1, BACKING / Math.max(this.width, this.height));
    this.#canvas.width = Math.round(this.width * this.#scale);
    this.#canvas.height = Math.round(this.height * this.#scale);
    this.#canvas.addEventListener("pointerdown", (event) => this.#down(event));
    this.#canvas.addEventListener("pointermove", (event) => this.#move(event));
    for (const name of /** @type {const} */ (["pointerup", "pointercancel"])) {
      this.#canvas.addEventListener(name, () => this.#up());
    }
    const dark = Number(options.paper ?? 255) < 128;
    this.element = h("div", { class: "pad" },
      h("div", { class: dark ? "pad-frame dark" : "pad-frame" }, this.#canvas, this.#hint),
      h("div", { class: "row" }, this.#undo, this.#clear));
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "z" && (event.ctrlKey || event.metaKey)) this.#back();
    });
    this.#paint();
  }

  /**
   * @param {Stroke[]} strokes
   * @param {CanvasImageSource | null} picture
   * @param {import("../widget.js").Given | null} background - the wire form of the picture
   */
  show(strokes, picture, background) {
    this.strokes = structuredClone(strokes);
    this.#picture = picture;
    this.background = background;
    this.#past = [];
    this.#paint();
  }

  /** @param {import("../../protocol.js").WireValue} wire - an image @param {Uint8Array[]} buffers */
  async showPicture(wire, buffers) {
    const data = /** @type {Uint8Array} */ (buffers[wire.buffer ?? -1]);
    const given = { wire: { ...wire, buffer: 0 }, buffers: [data] };
    this.show([], null, given); // at once, so that a run started now has it; the pixels follow
    const decoded =
      wire.encoding === "rgba"
        ? paintRgba(data, wire.width, wire.height)
        : await createImageBitmap(fileOf(wire, buffers)).catch(() => null);
    if (this.background === given) this.show([], decoded, given);
  }

  /** @type {Stroke | null} */
  #current = null;

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.button !== 0 || this.#current) return;
    this.#canvas.setPointerCapture(event.pointerId);
    this.#remember();
    this.#picture = null;
    this.background = null;
    this.#current = { size: this.#size, points: [] };
    this.strokes.push(this.#current);
    this.#move(event);
  }

  /** @param {PointerEvent} event */
  #move(event) {
    if (!this.#current) return;
    const frame = this.#canvas.getBoundingClientRect();
    const all = event.getCoalescedEvents?.() ?? []; // every sample of a fast stroke, not one a frame
    for (const { clientX, clientY } of all.length ? all : [event]) {
      const x = ((clientX - frame.left) / frame.width) * this.width;
      const y = ((clientY - frame.top) / frame.height) * this.height;
      this.#current.points.push(Math.round(x * 100) / 100, Math.round(y * 100) / 100);
    }
    this.#paint();
    if (this.#live) this.#changed();
  }

  #up() {
    if (!this.#current) return;
    this.#current = null;
    this.#changed();
  }

  #remember() {
    this.#past.push([...this.strokes]);
  }

  #back() {
    const before = this.#past.pop();
    if (!before) return;
    this.strokes = before;
    this.#paint();
    this.#changed();
  }

  #wipe() {
    if (this.strokes.length) this.#remember();
    this.strokes = [];
    this.#picture = null;
    this.background = null;
    this.#paint();
    this.#changed();
  }

  #paint() {
    paintStrokes(this.#canvas, this.strokes, { scale: this.#scale, ink: this.#ink, paper: this.#paper, picture: this.#picture });
    const empty = this.strokes.length === 0 && !this.background;
    this.#hint.hidden = !empty;
    this.#undo.disabled = this.#past.length === 0;
    this.#clear.disabled = empty;
  }
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Stroke[]} strokes
 * @param {{scale: number, ink: string, paper: string, picture?: CanvasImageSource | null}} look
 */
function paintStrokes(canvas, strokes, { scale, ink, paper, picture }) {
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.fillStyle = paper;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  if (picture) {
    pen.imageSmoothingEnabled = false;
    pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
  }
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.lineCap = pen.lineJoin = "round";
  pen.strokeStyle = ink;
  for (const { size, points } of strokes) {
    const [x = 0, y = 0] = points;
    pen.lineWidth = size;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x, y); // a dot, where the stroke has one point only
    for (let i = 2; i + 1 < points.length; i += 2) pen.lineTo(points[i] ?? 0, points[i + 1] ?? 0);
    pen.stroke();
  }
}

/** A small picture of strokes, for the examples. @param {import("../../protocol.js").WireValue} wire @param {Record<string, any>} options */
export function strokesThumbnail(wire, options) {
  const scale = 96 / Math.max(wire.width, wire.height);
  const canvas = h("canvas", { width: Math.round(wire.width * scale), height: Math.round(wire.height * scale) });
  paintStrokes(canvas, wire.strokes, { scale, ink: grey(options.ink ?? 0), paper: grey(options.paper ?? 255) });
  return canvas;
}

/** @param {unknown} level - 0 to 255 */
function grey(level) {
  return `rgb(${level} ${level} ${level})`;
}
