/**
 * Light or dark, as the page around an element is: by its `theme` attribute, else by the background behind it.
 */

/**
 * @param {HTMLElement} host
 * @param {HTMLLinkElement} dark the style sheet that is used in the dark only
 * @returns {{update: () => void, stop: () => void}}
 */
export function followTheme(host, dark) {
  const update = () => {
    const wanted = host.getAttribute("theme");
    const isDark = wanted === "dark" || (wanted !== "light" && stands(host));
    dark.media = isDark ? "all" : "not all";
  };
  // Pages change their theme with the system, or with an attribute of one of these.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const page = new MutationObserver(update);
  for (const node of [document.documentElement, document.body]) page.observe(node, { attributeFilter: ["class", "style", "data-theme", "theme"] });
  system.addEventListener("change", update);
  update();
  const stop = () => {
    page.disconnect();
    system.removeEventListener("change", update);
  };
  return { update, stop };
}

/** Whether an element stands on something dark. @param {HTMLElement} host */
function stands(host) {
  for (let node = parent(host); node; node = parent(node)) {
    const [red = 0, green = 0, blue = 0, alpha = 1] = numbers(getComputedStyle(node).backgroundColor);
    if (alpha > 0.5) return luminance(red, green, blue) < 0.4;
  }
  // Nobody painted: the canvas is what the root's color-scheme makes of it.
  const scheme = getComputedStyle(document.documentElement).colorScheme;
  const said = scheme === "normal" ? (document.querySelector("meta[name=color-scheme]")?.getAttribute("content") ?? "") : scheme;
  return /dark/.test(said) && (!/light/.test(said) || matchMedia("(prefers-color-scheme: dark)").matches);
}

/** @param {Node} node @returns {Element | null} also out of a shadow tree */
function parent(node) {
  const root = node.getRootNode();
  return node.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}

/** @param {string} colour as computed styles write it: rgb(...), rgba(...), or color(srgb ...) with parts of 1 */
function numbers(colour) {
  const found = (colour.match(/-?[\d.]+(e-?\d+)?/g) ?? []).map(Number);
  return colour.startsWith("rgb") ? found : found.map((part, i) => (i < 3 ? part * 255 : part));
}

/** Relative, 0 to 1, near enough to tell light from dark. @param {number} red @param {number} green @param {number} blue */
function luminance(red, green, blue) {
  return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
}
