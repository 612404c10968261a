/**
 * The page's words and numbers in the visitor's language.
 *
 * The first of `navigator.languages` that we have decides for the whole page; numbers, sizes and durations follow it
 * through Intl. Adding a language is a file in words/ and a line here.
 */

import { en } from "./words/en.js";
import { es } from "./words/es.js";

/** @import { Loaded } from "./protocol.js" */
/** @typedef {keyof typeof en} Word */
/** @typedef {Word extends infer K ? K extends `${infer Stem}_one` ? Stem : never : never} Counted */

/** @type {Record<string, Record<Word, string>>} */
const languages = { en, es };

export const language =
  navigator.languages.map((tag) => tag.split("-")[0] ?? "").find((tag) => tag in languages) ?? "en";
const words = languages[language] ?? en;
const plural = new Intl.PluralRules(language);

/**
 * @param {Word} word
 * @param {Record<string, string | number>} [values] - what stands for `{name}`; numbers are formatted
 */
export function t(word, values = {}) {
  return words[word].replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name] ?? "";
    return typeof value === "number" ? number(value) : value;
  });
}

/** The form of a word that goes with a number. @param {Counted} word @param {number} n */
export function count(word, n) {
  const key = /** @type {Word} */ (`${word}_${plural.select(n) === "one" ? "one" : "other"}`);
  return t(key, { n });
}

/** A word whose key comes from outside, such as a stage; itself where we have none. @param {string} prefix @param {string} key */
export function named(prefix, key) {
  return words[/** @type {Word} */ (`${prefix}_${key}`)] ?? key;
}

/** @param {number} n @param {Intl.NumberFormatOptions} [options] */
export function number(n, options) {
  return new Intl.NumberFormat(language, options).format(n);
}

/** @param {number} ratio - 0 to 1 @param {number} [digits] */
export function percent(ratio, digits = 0) {
  return number(ratio, { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Decimal units, as browsers and file managers count. @param {number} n */
export function bytes(n) {
  const step = n < 1e3 ? 0 : n < 1e6 ? 1 : n < 1e9 ? 2 : 3;
  const unit = ["byte", "kilobyte", "megabyte", "gigabyte"][step] ?? "byte";
  const scaled = n / 1000 ** step;
  const digits = step === 0 || scaled >= 100 ? 0 : 1;
  return number(scaled, { style: "unit", unit, unitDisplay: step ? "short" : "long", maximumFractionDigits: digits });
}

/** Bytes so far, in the unit of the whole: "12.3 / 28.1 MB". @param {number} loaded @param {number} total */
export function bytesOf(loaded, total) {
  const scale = total < 1e6 ? 1e3 : 1e6;
  return `${number(loaded / scale, { maximumFractionDigits: 1, minimumFractionDigits: 1 })} / ${bytes(total)}`;
}

/**
 * The file of a model that runs: how it is stored, its size, and how far it is from the original.
 * @param {Partial<Loaded>} file
 */
export function loadedFile({ format = "", bytes: size = 0, error, proven }) {
  const parts = [format, bytes(size)];
  if (!proven) parts.push(t("not_proven"));
  else if (error) parts.push(error.snr_db === null ? t("file_equal") : t("file_near", { db: Math.round(error.snr_db) }));
  if (proven && error?.top1 != null) parts.push(t("file_top1", { share: percent(error.top1, error.top1 === 1 ? 0 : 1) }));
  return parts.filter(Boolean).join(", ");
}

/** SI symbols read alike in every language. @param {number} ms */
export function duration(ms) {
  const [scaled, unit] = ms < 1000 ? [ms, "ms"] : [ms / 1000, "s"];
  const digits = scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2;
  return `${number(scaled, { maximumFractionDigits: digits })}\u00a0${unit}`;
}

/** Puts the words into what the HTML file already shows: `data-word` is text, `data-word-label` an aria-label. */
export function translate() {
  document.documentElement.lang = language;
  for (const node of document.querySelectorAll("[data-word]")) {
    node.textContent = words[/** @type {Word} */ (node.getAttribute("data-word"))];
  }
  for (const node of document.querySelectorAll("[data-word-label]")) {
    node.setAttribute("aria-label", words[/** @type {Word} */ (node.getAttribute("data-word-label"))]);
  }
}
