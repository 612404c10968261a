/**
 * What the page needs of a browser, asked by trying it and before anything is loaded, so that the answer is a sentence
 * and not a progress bar that never ends.
 */

import { t } from "./words.js";

const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

/** () -> v128: i32.const 0; i8x16.splat; i8x16.popcnt. ONNX Runtime Web has no build without SIMD. */
const simd = [...header, 1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0, 10, 10, 1, 8, 0, 0x41, 0, 0xfd, 0x0f, 0xfd, 0x62, 0x0b];

/** () -> (): try; catch_all; end. Pyodide is built with WebAssembly's exceptions. */
const exceptions = [...header, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, 8, 1, 6, 0, 0x06, 0x40, 0x19, 0x0b, 0x0b];

/** @returns {string} why the model cannot run in this browser; "" when it can */
export function whyUnsupported() {
  if (typeof WebAssembly !== "object") return t("no_wasm");
  try {
    new WebAssembly.Module(Uint8Array.from(header)); // eight bytes: cheap enough for the main thread
  } catch {
    return t("no_eval");
  }
  if (!WebAssembly.validate(Uint8Array.from(simd))) return t("old_browser", { feature: "WebAssembly SIMD" });
  if (!WebAssembly.validate(Uint8Array.from(exceptions))) return t("old_browser", { feature: "WebAssembly exceptions" });
  if (typeof BigInt64Array !== "function") return t("old_browser", { feature: "BigInt64Array" });
  if (typeof Worker !== "function") return t("old_browser", { feature: "Worker" });
  return "";
}
