/** A viewfinder that opens in the form: it gives one picture, as a PNG file, or stays open and gives one after the other. */

import { button, h, icon } from "../dom.js";
import { t } from "../words.js";
import { closeDevice, openDevice } from "./devices.js";
import { Frames } from "./frames.js";

/** @import { InputContext } from "../widgets/widget.js" */

/**
 * @param {(file: File) => void} taken
 * @param {(message: string) => void} complain
 */
export function stillCamera(taken, complain) {
  /** @type {MediaStream | null} */
  let stream = null;
  let opens = 0; // a device that comes after it was closed, or asked for again, is let go
  const video = h("video", { class: "picture", playsinline: true, muted: true, autoplay: true });
  const element = h("div", { class: "viewfinder", hidden: true }, video,
    h("div", { class: "row" },
      button({ class: "button primary", onclick: () => void shoot() }, icon("camera"), t("camera_shoot")),
      button({ class: "button quiet", onclick: close }, icon("clear"), t("camera_close"))));

  async function open() {
    if (stream) return;
    const mine = (opens += 1);
    const opened = await openDevice("camera", { video: { facingMode: "environment", width: { ideal: 1280 } } });
    if ("refused" in opened) return complain(opened.refused);
    if (mine !== opens) return closeDevice(opened.stream);
    complain("");
    stream = opened.stream;
    video.srcObject = stream;
    element.hidden = false;
    element.querySelector("button")?.focus();
  }

  async function shoot() {
    const canvas = h("canvas", { width: video.videoWidth, height: video.videoHeight });
    if (canvas.width === 0) return; // no frame has come yet
    canvas.getContext("2d")?.drawImage(video, 0, 0);
    /** @type {Blob | null} */
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    close();
    if (blob) taken(new File([blob], t("camera_name"), { type: "image/png" }));
  }

  function close() {
    opens += 1;
    closeDevice(stream);
    stream = null;
    video.srcObject = null;
    element.hidden = true;
  }

  return { element, open, close, take: () => null, running: () => false };
}

/**
 * The same, staying open: each frame may be taken.
 * @param {number} side - the longer one of what is taken, pixels
 * @param {InputContext} context
 * @param {(open: boolean) => void} changed
 */
export function liveCamera(side, context, changed) {
  /** @type {Frames | null} */
  let frames = null;
  let opening = false; // the visitor is being asked
  let opens = 0; // a device that comes after it was closed is let go
  const video = h("video", { class: "picture", playsinline: true, muted: true, autoplay: true });
  const element = h("div", { class: "viewfinder", hidden: true }, video);

  async function open() {
    if (frames || opening) return;
    opening = true;
    const mine = opens;
    const opened = await Frames.open(video, side, () => {
      close();
      context.complain(t("device_gone", { device: t("device_camera") }));
    });
    opening = false;
    if (typeof opened === "string") return context.complain(opened);
    if (mine !== opens) return opened.close();
    show(opened);
    void opened.closed.then(() => show(null));
    context.complain("");
    context.flows(opened);
  }

  function close() {
    opens += 1;
    frames?.close();
  }

  /** @param {Frames | null} now */
  function show(now) {
    frames = now;
    element.hidden = !now;
    changed(Boolean(now));
  }

  return { element, open, close, take: () => frames && frames.take(), running: () => frames !== null };
}
