/** Stages of a start in the browser's own time line, of the page and of its worker: tests/bench draws them. */

const PREFIX = "onnxlet:";

/** @param {string} stage that has ended; of stages that come again the first counts */
export function mark(stage) {
  performance.mark(PREFIX + stage);
}

/** @returns {Record<string, number>} when each stage of this thread ended, in ms since 1970, which threads share */
export function marks() {
  /** @type {Record<string, number>} */
  const ends = {};
  for (const { name, startTime } of performance.getEntriesByType("mark")) {
    if (name.startsWith(PREFIX)) ends[name.slice(PREFIX.length)] ??= performance.timeOrigin + startTime;
  }
  return ends;
}
