/**
 * What Python's Tokenizer takes from npm's @huggingface/tokenizers: the models that cut a word into tokens, and regular
 * expressions of Oniguruma's. All else of a tokenizer.json is Python's (py/onnxlet/tokens/), the same as natively.
 *
 * Everything is synchronous and crosses as JSON, so no proxy is left behind.
 */

import { BPE, SplitPreTokenizer, Unigram, WordPiece } from "./vendor/tokenizers.js";

export class Tokenizers {
  /** @type {Map<number, (word: string) => string[]>} */
  #models = new Map();
  #made = 0;
  /** @type {Map<string, RegExp>} */
  #patterns = new Map();

  /**
   * @param {string} json tokenizer.json's "model", with its type
   * @returns {number} to call `tokens` with
   */
  model(json) {
    this.#models.set(++this.#made, cutter(JSON.parse(json)));
    return this.#made;
  }

  /** @param {number} model that nobody calls any more */
  release(model) {
    this.#models.delete(model);
  }

  /**
   * @param {number} model
   * @param {string} words JSON: a list of words
   * @returns {string} JSON: of each word the tokens; of BPE and Unigram also parts that are not in the vocabulary
   */
  tokens(model, words) {
    const cut = this.#models.get(model);
    if (!cut) throw new Error(`there is no tokenizer model ${model}`);
    return JSON.stringify(JSON.parse(words).map((/** @type {string} */ word) => cut(word)));
  }

  /**
   * @param {string} pattern for Oniguruma
   * @param {string} text
   * @returns {string} JSON: [start, end] of each match, in code points; a text that says why JavaScript has no such pattern
   */
  find(pattern, text) {
    let regex = this.#patterns.get(pattern);
    if (!regex) {
      try {
        const splitter = new SplitPreTokenizer({ type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false });
        regex = /** @type {RegExp} */ (splitter.pattern);
      } catch (error) {
        return JSON.stringify(String(error));
      }
      this.#patterns.set(pattern, regex);
    }
    const found = [...text.matchAll(regex)].map((match) => [match.index, match.index + match[0].length]);
    return JSON.stringify(inCodePoints(text, found));
  }
}

/**
 * @param {any} spec
 * @returns {(word: string) => string[]}
 */
function cutter(spec) {
  switch (spec.type) {
    case "WordPiece": {
      const model = new WordPiece(spec);
      return (word) => model.encode([word]);
    }
    case "BPE": {
      const model = new BPE(spec);
      return (word) => (spec.ignore_merges && model.tokens_to_ids.has(word) ? [word] : model.bpe(word));
    }
    case "Unigram": {
      const model = new Unigram(spec, "");
      return (word) => model.tokenize(word);
    }
  }
  throw new Error(`no tokenizer model of type ${spec.type}`);
}

/**
 * Python counts code points, JavaScript UTF-16 units.
 * @param {string} text
 * @param {number[][]} spans in ascending order
 */
function inCodePoints(text, spans) {
  let unit = 0;
  let point = 0;
  const pointAt = (/** @type {number} */ wanted) => {
    for (; unit < wanted; point += 1) unit += /** @type {number} */ (text.codePointAt(unit)) > 0xffff ? 2 : 1;
    return point;
  };
  return spans.map(([start, end]) => [pointAt(start), pointAt(end)]);
}
