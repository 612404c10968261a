/** Examples as buttons: a thumbnail where the example holds a picture or a drawing, else the beginning of its text. */

import { h, icon } from "./dom.js";
import { t } from "./words.js";
import { strokesThumbnail } from "./widgets/input/drawing.js";

/** @import { Example, FunctionSchema } from "./protocol.js" */

/**
 * @param {Example[]} examples
 * @param {FunctionSchema} schema
 * @param {URL} root - of the site
 * @param {(example: Example) => void} choose
 */
export function exampleButtons(examples, schema, root, choose) {
  const buttons = examples.map((example) =>
    h("li", {},
      h("button", { type: "button", class: "example", "aria-label": t("example", { name: example.label }), onclick: () => choose(example) },
        thumbnail(example, schema, root),
        h("span", { class: "example-label", dir: "auto" }, example.label))));
  const id = `examples-${schema.name}`;
  return h("section", { class: "examples", "aria-labelledby": id },
    h("h2", { id }, t("examples")),
    h("ul", { class: "example-list" }, ...buttons));
}

/** @param {Example} example @param {FunctionSchema} schema @param {URL} root */
export function thumbnail({ inputs, buffers }, schema, root) {
  for (const [i, wire] of inputs.entries()) {
    if (!wire) continue; // left out
    if (wire.kind === "drawing" && wire.strokes) return strokesThumbnail(wire, schema.inputs[i]?.options ?? {});
    const path = buffers[wire.buffer ?? -1];
    const encoded = ["image", "drawing"].includes(wire.kind) && wire.encoding !== "rgba";
    if (encoded && path) return h("img", { src: new URL(path, root).href, crossorigin: "anonymous", alt: "", loading: "lazy", decoding: "async" });
  }
  if (inputs.some((wire) => wire?.kind === "audio")) return h("span", { class: "example-icon" }, icon("microphone"));
  if (inputs.some((wire) => wire?.kind === "table")) return h("span", { class: "example-icon" }, icon("table"));
  if (inputs.some((wire) => wire?.buffer !== undefined)) return h("span", { class: "example-icon" }, icon("file"));
  return null;
}

/** The first text among an example's inputs; "" where there is none. @param {Example} example */
export function exampleText({ inputs }) {
  return String(inputs.find((wire) => wire?.kind === "text")?.text ?? "");
}

/**
 * The bytes that an example's inputs refer to.
 * @param {Example} example
 * @param {URL} root
 * @throws {Error} with a sentence that names the file
 */
export async function exampleBuffers({ buffers }, root) {
  return Promise.all(buffers.map(async (path) => {
    const response = await fetch(new URL(path, root));
    if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`);
    return new Uint8Array(await response.arrayBuffer());
  }));
}
