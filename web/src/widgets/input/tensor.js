/** A tensor from an .npy file. */

import { h } from "../../dom.js";
import { readHeader } from "../npy.js";
import { bytes, t } from "../../words.js";
import { FileBox, fileOf, fileValue } from "./file-box.js";

/** @type {import("../widget.js").MakeInput} */
export function tensor(field, context) {
  const box = new FileBox(context, {
    symbol: "grid",
    prompt: "drop_tensor",
    choose: "choose_tensor",
    accept: ".npy",
    shown(file) {
      if (file) void describe(file);
    },
  });
  /** @param {File} file */
  async function describe(file) {
    const header = readHeader(new Uint8Array(await file.slice(0, 65536).arrayBuffer()));
    if (file !== box.file) return;
    if (!header) return context.complain(t("tensor_broken", { name: file.name }));
    const facts = `${header.descr} [${header.shape.join(", ")}]`;
    box.preview.replaceChildren(
      h("p", { class: "mono" }, facts),
      h("p", { class: "fine file-line" }, t("preview", { name: file.name, size: bytes(file.size) })),
    );
  }
  const { dtype, shape } = field.options;
  const expected = dtype || shape ? h("p", { class: "fine mono" }, `${dtype ?? ""} ${shape ? `[${shape.join(", ")}]` : ""}`.trim()) : null;
  return {
    element: h("div", {}, box.element, expected),
    async value() {
      return box.file && fileValue("tensor", box.file);
    },
    set: (wire, buffers) => box.set(fileOf(wire, buffers)),
    take: (file) => (file.name.toLowerCase().endsWith(".npy") ? box.take(file) : false),
  };
}
