/**
 * Making DOM nodes without markup: text from an app can only ever become text.
 */

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * An element with attributes and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} [props] - `onclick` and the like are listeners; true is an empty attribute;
 *   false, null and undefined leave it out
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, ...children);
  return node;
}

/** @param {Element} node @param {...Child} children */
export function append(node, ...children) {
  for (const child of children) if (child) node.append(child);
}

/**
 * An SVG element; attributes only, so that no inline style is needed.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  append(node, ...children);
  return node;
}

/** 20-unit outlines, drawn with currentColor. */
const outlines = {
  upload: "M10 13V3.500M6 7l4-4 4 4M3.500 13v3.500h13V13",
  download: "M10 3.500V13M6 9.500l4 4 4-4M3.500 13v3.500h13V13",
  camera: "M3 6.500h3.500L8 4.500h4l1.500 2H17v9.500H3zM10 8.250a2.750 2.750 0 1 0 .001 0",
  microphone: "M10 3a2 2 0 0 0-2 2v4.500a2 2 0 0 0 4 0V5a2 2 0 0 0-2-2zM5.500 9.500a4.500 4.500 0 0 0 9 0M10 14v3",
  undo: "M7 4 3.500 7.500 7 11M4 7.500h7.500a4 4 0 0 1 0 8H8",
  clear: "M5 5l10 10M15 5 5 15",
  play: "M6.500 4.500v11l9-5.500z",
  stop: "M5.500 5.500h9v9h-9z",
  copy: "M7.500 7.500h9v9h-9zM12.500 7.500v-4h-9v9h4",
  check: "M4 10.500 8 14.500 16 6",
  file: "M5 2.750h6.500L15 6.250v11H5zM11.250 3v3.500h3.500",
  table: "M3 4.500h14v11H3zM3 8h14M8 8v7.500",
  grid: "M3.500 3.500h5v5h-5zM11.500 3.500h5v5h-5zM3.500 11.500h5v5h-5zM11.500 11.500h5v5h-5z",
};

/** @param {keyof typeof outlines} name */
export function icon(name) {
  const drawing = svg("svg", { viewBox: "0 0 20 20", class: "icon", "aria-hidden": "true", focusable: "false" });
  drawing.append(svg("path", { d: outlines[name] }));
  return drawing;
}

/** @param {Record<string, unknown>} props @param {...Child} children */
export function button(props, ...children) {
  return h("button", { type: "button", class: "button", ...props }, ...children);
}

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const node = document.getElementById(id);
  if (!node) throw new Error(`the page has no element #${id}; its HTML and its script are of different builds`);
  return node;
}

/** Offers bytes as a file. @param {Blob} blob @param {string} name */
export function save(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // long enough for a slow save dialog
}

let last = 0;

/** An id that no other element has. @param {string} stem */
export function fresh(stem) {
  last += 1;
  return `${stem}-${last}`;
}
