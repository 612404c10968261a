/**
 * The form that a function's schema describes: one field a parameter, made by the parameter's kind.
 */

import { append, fresh, h } from "./dom.js";
import { t } from "./words.js";
import { inputs } from "./widgets/input/index.js";

/** @import { FunctionSchema, WireValue } from "./protocol.js" */
/** @import { Flow } from "./widgets/widget.js" */

/** @typedef {FunctionSchema["inputs"][number]} Field */

const GESTURES = new Set(["drawing", "image", "file", "audio"]);

export class Form {
  /** @type {ReturnType<typeof part>[]} */
  #parts;

  /**
   * @param {FunctionSchema} schema
   * @param {{changed: () => void, flows: (flow: Flow) => void, live: boolean}} options changed: called after the
   *   visitor changed a value; flows: when live input begins; live: the app asks to run at every change
   */
  constructor(schema, { changed, flows, live }) {
    this.#parts = schema.inputs.map((field) => part(field, { changed, flows, live }));
    this.element = h("div", { class: "fields" }, ...this.#parts.map(({ element }) => element));
    /** One thing that is given in one gesture is an answer waiting to be asked for. */
    this.runsItself = live || (schema.inputs.length === 1 && GESTURES.has(schema.inputs[0]?.kind ?? ""));
  }

  /**
   * What the visitor gave, ready for the client. Complains beside the fields where something is missing or wrong.
   * @returns {Promise<{inputs: (WireValue | null)[], buffers: Uint8Array[]} | null>} null after a complaint; an input that
   *   is null was left out
   */
  async collect() {
    /** @type {(WireValue | null)[]} */
    const wires = [];
    /** @type {Uint8Array[]} */
    const buffers = [];
    let firstWrong = null;
    for (const one of this.#parts) {
      const { field, widget } = one;
      let wrong = "";
      try {
        const given = await widget.value();
        if (!given && field.required !== false) wrong = t("missing", { label: field.label });
        const wire = given?.wire ?? null;
        wires.push(wire?.buffer === undefined ? wire : { ...wire, buffer: wire.buffer + buffers.length });
        buffers.push(...(given?.buffers ?? []));
      } catch (error) {
        wrong = /** @type {Error} */ (error).message;
      }
      one.complain(wrong);
      if (wrong) firstWrong ??= one;
    }
    firstWrong?.focus();
    return firstWrong ? null : { inputs: wires, buffers };
  }

  /** Whether every required field has a value, without a word about it. */
  async complete() {
    for (const { field, widget } of this.#parts) {
      const given = await widget.value().catch(() => null);
      if (!given && field.required !== false) return false;
    }
    return true;
  }

  /** @param {(WireValue | null)[]} wires - an example's, in the order of the fields @param {Uint8Array[]} buffers */
  fill(wires, buffers) {
    this.#parts.forEach(({ widget, complain }, i) => {
      const wire = wires[i];
      if (wire) widget.set(wire, buffers);
      complain("");
    });
  }

  /** Gives a dropped or pasted file to the first field that takes it. @param {File} file */
  take(file) {
    return this.#parts.some(({ widget }) => widget.take?.(file) ?? false);
  }

  rest() {
    for (const { widget } of this.#parts) widget.rest?.();
  }

  wake() {
    for (const { widget } of this.#parts) widget.wake?.();
  }
}

/** @param {Field} field @param {{changed: () => void, flows: (flow: Flow) => void, live: boolean}} options */
function part(field, { changed, flows, live }) {
  const errorId = fresh("error");
  const wrong = h("p", { id: errorId, class: "field-error", hidden: true });
  /** @param {string} message */
  const complain = (message) => {
    wrong.textContent = message;
    wrong.hidden = !message;
    if (message) target.setAttribute("aria-invalid", "true");
    else target.removeAttribute("aria-invalid");
  };
  const make = inputs[field.kind];
  if (!make) throw new Error(`no input of kind "${field.kind}" (field "${field.name}"); known: ${Object.keys(inputs).join(", ")}`);
  const widget = make(field, {
    complain,
    flows,
    live,
    changed() {
      complain("");
      changed();
    },
  });
  const absent = field.required === false && (field.default ?? null) === null; // else the form shows what it would be
  const optional = absent && !["choice", "toggle"].includes(field.kind) ? h("span", { class: "optional" }, ` ${t("optional")}`) : null;
  const target = widget.control ?? h("div", { role: field.kind === "choice" ? "radiogroup" : "group" });
  target.setAttribute("aria-describedby", errorId);
  const element = h("div", { class: `field field-${field.kind}`, "data-field": field.name });
  if (widget.control) {
    widget.control.id ||= fresh("field");
    append(element, h("label", { class: "field-label", for: widget.control.id }, field.label, optional), widget.element, wrong);
  } else {
    const labelId = fresh("label");
    target.setAttribute("aria-labelledby", labelId);
    append(target, h("span", { id: labelId, class: "field-label" }, field.label, optional), widget.element, wrong);
    append(element, target);
  }
  const focus = () => (widget.control ?? element.querySelector("button, input, [tabindex]"))?.focus();
  return { field, widget, complain, element, focus: /** @type {() => void} */ (focus) };
}
