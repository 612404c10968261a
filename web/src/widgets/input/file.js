/** Any file, as bytes and a name. */

import { FileBox, fileLine, fileOf, fileValue } from "./file-box.js";

/** @type {import("../widget.js").MakeInput} */
export function file(field, context) {
  const { accept, max_bytes: maxBytes } = field.options;
  const box = new FileBox(context, {
    symbol: "file",
    prompt: "drop_file",
    choose: "choose_file",
    accept: Array.isArray(accept) ? accept.join(",") : accept,
    maxBytes,
    shown(chosen) {
      if (chosen) box.preview.replaceChildren(fileLine(chosen));
    },
  });
  return {
    element: box.element,
    async value() {
      return box.file && fileValue("file", box.file);
    },
    set: (wire, buffers) => box.set(fileOf(wire, buffers)),
    take: (given) => box.take(given),
  };
}
