/**
 * What a visitor has set in a result stays when the next one takes its place: what is unfolded, and where a slider stands.
 */

/** @param {Element} from @param {Element} to */
export function carry(from, to) {
  pairs(from, to, "details", (/** @type {HTMLDetailsElement} */ a, /** @type {HTMLDetailsElement} */ b) => (b.open = a.open));
  pairs(from, to, "input[type=range]", (/** @type {HTMLInputElement} */ a, /** @type {HTMLInputElement} */ b) => {
    if (a.value === b.value) return;
    b.value = a.value;
    b.dispatchEvent(new Event("input"));
  });
}

/**
 * @template {Element} E
 * @param {Element} from
 * @param {Element} to
 * @param {string} selector
 * @param {(a: E, b: E) => void} each
 */
function pairs(from, to, selector, each) {
  const [a, b] = [from, to].map((root) => /** @type {E[]} */ ([...root.querySelectorAll(selector)]));
  a?.forEach((one, i) => b?.[i] && each(one, b[i]));
}
