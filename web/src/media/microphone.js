/** A microphone that stays open in the form, with a level that shows that it hears something. */

import { h, icon } from "../dom.js";
import { t } from "../words.js";
import { Listener } from "./listener.js";

/** @import { InputContext } from "../widgets/widget.js" */

const CHUNK_S = 0.5;
const LEVEL_MS = 60; // how long one peak stands

/**
 * @param {Record<string, any>} options - of the form's field: sample_rate, Hz; chunk_s
 * @param {InputContext} context
 * @param {(open: boolean) => void} changed
 */
export function liveMicrophone(options, context, changed) {
  /** @type {Listener | null} */
  let listener = null;
  let opening = false; // the visitor is being asked
  let opens = 0; // a device that comes after it was closed is let go
  const level = h("meter", { class: "level", min: 0, max: 1, "aria-label": t("level") });
  const element = h("div", { class: "viewfinder", hidden: true },
    h("p", { class: "listening" }, icon("microphone"), t("listening"), level));
  let [loudest, since] = [0, 0];

  /** @param {number} peak - of a few milliseconds */
  function show(peak) {
    loudest = Math.max(loudest, peak);
    if (performance.now() - since < LEVEL_MS) return;
    level.value = Math.sqrt(loudest); // quiet speech is to be seen too
    [loudest, since] = [0, performance.now()];
  }

  async function open() {
    if (listener || opening) return;
    opening = true;
    const mine = opens;
    const opened = await Listener.open({
      rate: options.sample_rate,
      chunk_s: options.chunk_s ?? CHUNK_S,
      loudest: show,
      unplugged() {
        close();
        context.complain(t("device_gone", { device: t("device_microphone") }));
      },
    });
    opening = false;
    if (typeof opened === "string") return context.complain(opened);
    if (mine !== opens) return opened.close();
    turn(opened);
    void opened.closed.then(() => turn(null));
    context.complain("");
    context.flows(opened);
  }

  function close() {
    opens += 1;
    listener?.close();
  }

  /** @param {Listener | null} now */
  function turn(now) {
    listener = now;
    element.hidden = !now;
    changed(Boolean(now));
  }

  return { element, open, close, take: () => listener && listener.take(), running: () => listener !== null };
}
