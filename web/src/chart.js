/** The latest runs as bars: in each, the model's part below and the rest above. */

import { h, svg } from "./dom.js";
import { duration, t } from "./words.js";

/** @import { Timing } from "./protocol.js" */

const BARS = 32;
const WIDTH = 320;
const HEIGHT = 72;

/** @param {Timing[]} runs - oldest first */
export function latencyChart(runs) {
  const latest = runs.slice(-BARS);
  if (latest.length === 0) return h("p", { class: "fine" }, t("chart_empty"));
  const top = Math.max(...latest.map(({ total_ms: ms }) => ms), 0.1);
  const pitch = WIDTH / BARS;
  const start = BARS - latest.length; // the newest stands at the right edge
  const bars = latest.flatMap(({ total_ms: total, run_ms: run }, i) => {
    const place = { x: (start + i) * pitch, width: pitch - 3 };
    const whole = Math.max(1, (HEIGHT * total) / top);
    const model = (HEIGHT * Math.min(run, total)) / top;
    return [
      svg("rect", { ...place, class: "chart-rest", y: HEIGHT - whole, height: whole }),
      svg("rect", { ...place, class: "chart-model", y: HEIGHT - model, height: model }),
    ];
  });
  const words = t("chart", { n: latest.length, median: duration(median(latest.map(({ total_ms: ms }) => ms))) });
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": words },
    svg("line", { class: "chart-line", x1: 0, x2: WIDTH, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5 }), ...bars);
  return h("figure", { class: "chart-figure" },
    h("p", { class: "fine chart-top" }, duration(top)), drawing,
    h("figcaption", { class: "fine" },
      h("span", {}, h("i", { class: "key key-model", "aria-hidden": "true" }), t("chart_model")),
      h("span", {}, h("i", { class: "key key-rest", "aria-hidden": "true" }), t("chart_rest"))));
}

/** @param {number[]} values - at least one */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 ? upper : (upper + (sorted[middle - 1] ?? NaN)) / 2;
}
