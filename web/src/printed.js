/**
 * Catches what ONNX Runtime Web prints: its time table has no other way out of WebAssembly than console.log, line by line.
 *
 * Its runtime takes console.log as it is when the runtime loads, so this stands in its place from the first import on.
 */

/** A trace ends with this line; on the GPU it may come later than the call that asks for it. */
const LAST = "]";
const PATIENCE_MS = 5000;

/** @type {((line: string) => void) | null} */
let listener = null;

const log = console.log.bind(console);
console.log = (...words) => (listener ? listener(words.join(" ")) : log(...words));

/**
 * The lines that are printed from a call on, until the trace's last one.
 * @param {() => unknown} print
 * @returns {Promise<string>}
 * @throws {Error} the trace did not come
 */
export async function printed(print) {
  /** @type {string[]} */
  const lines = [];
  let timer;
  try {
    await new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no trace within ${PATIENCE_MS / 1000} s`)), PATIENCE_MS);
      listener = (line) => {
        lines.push(line);
        if (line.trim() === LAST) resolve(undefined);
      };
      print();
    });
  } finally {
    clearTimeout(timer);
    listener = null;
  }
  return lines.join("\n");
}
