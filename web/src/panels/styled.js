/** Style sheets of what stands behind the tabs: a page that nobody looks behind does without them. */

import { here } from "../here.js";

/** @type {Map<string, Promise<void>>} */
const loaded = new Map();

/**
 * @param {string} name - in styles/
 * @returns {Promise<void>} when it is in force
 */
export function styled(name) {
  let loading = loaded.get(name);
  if (!loading) {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = here(`styles/${name}`).href;
    loading = new Promise((resolve, reject) => {
      link.onload = () => resolve();
      link.onerror = () => reject(new Error(`styles/${name} could not be loaded`));
    });
    loading.catch(() => loaded.delete(name));
    loaded.set(name, loading);
    document.head.append(link);
  }
  return loading;
}
