/**
 * Where the page's files lie. Only modules of this folder, not of its sub-folders, may say `import.meta.url`: the build joins
 * modules into files that lie here.
 */

/** @param {string} path of a file in this folder @returns {URL} */
export function here(path) {
  return new URL(`./${path}`, import.meta.url);
}
