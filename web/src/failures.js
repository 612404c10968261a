/**
 * What went wrong in ONNX Runtime Web, by who has to act: the names are the core's exception classes (errors.py).
 */

/** @typedef {"InvalidModel" | "InvalidInput" | "OutOfMemory" | "ProviderError" | "Refused"} FailureType */

/** How ONNX Runtime, WebAssembly and browsers say it; sizes that overflow are those of tensors beyond 4 GiB. */
const NO_MEMORY = /bad_alloc|bad allocation|out of memory|memory access out of bounds|failed to allocate|allocation failed|SafeIntOnOverflow/i;
const LESS = "close other demos and tabs, give it a smaller input, or ask the site's author for a smaller model";

export class OrtError extends Error {
  /**
   * @param {FailureType} type
   * @param {string} message
   */
  constructor(type, message) {
    super(message);
    this.type = type;
  }
}

/**
 * @param {unknown} error
 * @returns {OrtError}
 */
export function createFailure(error) {
  if (error instanceof OrtError) return error;
  const text = words(error);
  if (NO_MEMORY.test(text)) return new OrtError("OutOfMemory", `the memory does not suffice to load the model (${text}); ${LESS}`);
  if (/ERROR_CODE: 7\b|protobuf parsing failed|No graph was found/.test(text)) return new OrtError("InvalidModel", text);
  // AssetError names the file; everything else is a model or a machine that another provider may cope with.
  if (error instanceof Error && error.name === "AssetError") return new OrtError("ProviderError", text);
  return new OrtError("Refused", text);
}

/**
 * @param {unknown} error
 * @returns {OrtError}
 */
export function runFailure(error) {
  if (error instanceof OrtError) return error;
  const text = words(error);
  if (NO_MEMORY.test(text)) return new OrtError("OutOfMemory", `the memory does not suffice for this run (${text}); ${LESS}`);
  // The JavaScript side takes fewer types and fewer inputs (no overridable initializers) than the model may have.
  if (/unsupported data type|Unsupported tensor type|has no tensors of|invalid input '|non-tensor/i.test(text)) {
    return new OrtError("Refused", text);
  }
  return new OrtError(/ERROR_CODE: 2\b/.test(text) ? "InvalidInput" : "ProviderError", text);
}

/** @param {unknown} error */
export function words(error) {
  return error instanceof Error ? error.message : String(error);
}
