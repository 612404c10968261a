/**
 * Tensors that a folded graph gives, as what the page draws: the wire form that the core's Python gives (wire/outputs.py).
 */

import { Odd } from "./odd.js";
import { typed } from "../tensors.js";

/** @import { DirectOutput, WireValue } from "../protocol.js" */
/** @import { RawTensor } from "../tensors.js" */

/**
 * @param {DirectOutput} how
 * @param {Record<string, RawTensor>} values by name
 * @returns {WireValue}
 * @throws {Odd} numbers that are none: Python has the words for them
 */
export function shown({ kind, label, tensors }, values) {
  const found = tensors.map((name) => values[name]);
  if (kind === "labels") return { kind, label, items: labels(found[0], found[1]) };
  if (kind === "json") return { kind, label, text: numberText(found[0]) };
  throw new Odd(kind);
}

/** @param {RawTensor} texts @param {RawTensor} scores */
function labels([, , texts], scores) {
  const numbers = numbersOf(scores);
  return /** @type {string[]} */ (texts).map((text, i) => ({ label: text, score: numbers[i] }));
}

/** @param {RawTensor} tensor */
function numbersOf([type, , data]) {
  const numbers = [.../** @type {Float32Array | Float64Array} */ (typed(type, /** @type {Uint8Array} */ (data)))];
  if (!numbers.every(Number.isFinite)) throw new Odd("number");
  return numbers;
}

/** @param {RawTensor} tensor of one number */
function numberText(tensor) {
  const [number, ...more] = numbersOf(tensor);
  if (more.length) throw new Odd("numbers");
  return pythonText(tensor[0] === "float32" ? shortest(number) : number);
}

/**
 * The number of the fewest digits that is this one as float32: 0.1 of 0.10000000149011612.
 * @param {number} number
 */
export function shortest(number) {
  if (number === 0) return number; // -0 too
  const [exact, exponent] = number.toExponential(60).split("e"); // no float32 that halves a digit has more
  for (let digits = 1; digits < 9; digits += 1) {
    const cut = exact.slice(0, exact.indexOf(".") + digits);
    const halved = /[02468]\.?$/.test(cut) && /^\.?50*$/.test(exact.slice(cut.length)); // to the even digit, as numpy does
    const rounded = Number(halved ? `${cut}e${exponent}` : number.toPrecision(digits));
    if (Math.fround(rounded) === number) return rounded;
  }
  return Number(number.toPrecision(9));
}

/**
 * As Python writes a float: digits are the same as JavaScript's, exponents begin elsewhere.
 * @param {number} number
 */
export function pythonText(number) {
  if (Object.is(number, -0)) return "-0.0";
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) return number.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  return Number.isInteger(number) ? `${number}.0` : String(number);
}
