/**
 * Gathers what Python prints into few and bounded pieces: each piece costs both threads a message, and the page a layout.
 */

/** So often a person sees more of it. */
const EVERY_MS = 100;
/** Characters of one piece, its last ones: nobody reads more of what comes within that time. */
const MOST = 20_000;

/**
 * @template {string} K
 * @param {(kind: K, text: string) => void} write - takes the pieces
 * @returns {{say: (kind: K, text: string) => void, flush: () => void}} flush: write what is left
 */
export function gather(write) {
  /** @type {{kind: K, text: string} | null} */
  let piece = null;
  let written = -Infinity;
  let timer = 0;
  const flush = () => {
    clearTimeout(timer);
    if (!piece) return;
    const { kind, text } = piece;
    piece = null;
    written = performance.now();
    write(kind, text);
  };
  /** @param {K} kind @param {string} text */
  const say = (kind, text) => {
    if (piece?.kind !== kind) flush();
    if (!piece) timer = setTimeout(flush, EVERY_MS); // for what waits; a loop in Python leaves timers no time
    piece = { kind, text: ((piece?.text ?? "") + text).slice(-MOST) };
    if (performance.now() - written > EVERY_MS) flush();
  };
  return { say, flush };
}
