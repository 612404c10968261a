/** A camera that stays open: its newest frame is there to be taken, the others are only counted. */

import { h } from "../dom.js";
import { t } from "../words.js";
import { closeDevice, openDevice } from "./devices.js";

/** @import { Flow } from "../widgets/widget.js" */

/** Where a video out of sight tells of no new frames, or the browser tells of none at all. */
const BLIND_MS = 250;

/** @implements {Flow} */
export class Frames {
  #stream;
  #video;
  #side;
  #canvas = h("canvas");
  open = true;
  #came = 0;
  #taken = 0;
  #counted = 0; // of those that came, when the losses were last told
  #calls = 0;
  #tell = () => {};
  #over = () => {};
  /** @type {Promise<void>} */
  closed = new Promise((resolve) => (this.#over = resolve));

  /**
   * @param {MediaStream} stream
   * @param {HTMLVideoElement} video - shows it
   * @param {number} side - the longer one of what is taken, pixels
   * @param {() => void} unplugged
   */
  constructor(stream, video, side, unplugged) {
    this.#stream = stream;
    this.#video = video;
    this.#side = side;
    for (const track of stream.getVideoTracks()) track.addEventListener("ended", unplugged); // not by close()
    video.srcObject = stream;
    this.#watch();
  }

  /**
   * @param {HTMLVideoElement} video
   * @param {number} side
   * @param {() => void} unplugged
   * @returns {Promise<Frames | string>} why not, where it does not open
   */
  static async open(video, side, unplugged) {
    const opened = await openDevice("camera", { video: { facingMode: "environment", width: { ideal: side } } });
    return "refused" in opened ? opened.refused : new Frames(opened.stream, video, side, unplugged);
  }

  /** @returns {Promise<boolean>} */
  async fresh() {
    if (this.open && (this.#taken === this.#came || !this.#video.videoWidth)) {
      await new Promise((resolve) => {
        this.#tell = () => resolve(undefined);
        setTimeout(resolve, BLIND_MS);
      });
    }
    return this.open && (this.#video.videoWidth > 0 || this.fresh());
  }

  /** The newest frame in wire form. */
  take() {
    const { videoWidth, videoHeight } = this.#video;
    const scale = Math.min(1, this.#side / Math.max(videoWidth, videoHeight));
    const [width, height] = [Math.round(videoWidth * scale), Math.round(videoHeight * scale)];
    Object.assign(this.#canvas, { width, height });
    const pen = /** @type {CanvasRenderingContext2D} */ (this.#canvas.getContext("2d", { willReadFrequently: true }));
    pen.drawImage(this.#video, 0, 0, width, height);
    this.#taken = this.#came;
    this.#calls += 1;
    const { data } = pen.getImageData(0, 0, width, height);
    return { wire: { kind: "image", width, height, buffer: 0, encoding: "rgba" }, buffers: [new Uint8Array(data.buffer)] };
  }

  renew() {
    this.#counted = this.#taken = this.#came;
    this.#calls = 0;
  }

  /** @param {number} time_s */
  lost(time_s) {
    const came = this.#came - this.#counted;
    const skipped = Math.max(0, came - this.#calls);
    this.#counted = this.#came;
    this.#calls = 0;
    return t("live_skipped", { skipped: Math.round(skipped / time_s), frames: Math.round(came / time_s) });
  }

  close() {
    if (!this.open) return;
    this.open = false;
    closeDevice(this.#stream);
    this.#video.srcObject = null;
    this.#tell();
    this.#over();
  }

  #watch() {
    if (!this.open) return;
    const seen = (/** @type {number} */ frames) => {
      if (frames > this.#came) {
        this.#came = frames;
        this.#tell();
      }
      this.#watch();
    };
    if ("requestVideoFrameCallback" in this.#video) {
      this.#video.requestVideoFrameCallback((_, { presentedFrames }) => seen(presentedFrames));
    } else {
      requestAnimationFrame(() => seen(this.#came + 1)); // an old browser: as if every picture of the screen were new
    }
  }
}
