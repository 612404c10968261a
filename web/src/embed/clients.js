/**
 * The apps that run in a page that embeds them: whoever asks for the same app on the same backend gets the same one.
 */

import { Client } from "../client.js";
import { Demoted } from "../demoted.js";

/** @import { BackendChoice, Site, SiteApp } from "../protocol.js" */

/** @typedef {{client: Client, users: number}} Shared */

/** By root, app and backend. @type {Map<string, Shared>} */
const running = new Map();

/**
 * @param {Site} site
 * @param {string} root absolute, with its trailing slash
 * @param {SiteApp} app
 * @param {BackendChoice} backend
 * @returns {{client: Client, release: () => void}} release: the last one ends it
 */
export function clientOf(site, root, app, backend) {
  const key = `${root} ${app.name} ${backend}`;
  const demoted = new Demoted(site, new URL(root), app.name);
  const made = () => ({ client: new Client({ site, root, app: app.name, demoted: () => demoted.backends, embedded: true }), users: 0 });
  const shared = running.get(key) ?? made();
  running.set(key, shared);
  shared.users += 1;
  let held = true;
  const release = () => {
    if (!held) return;
    held = false;
    shared.users -= 1;
    if (shared.users > 0) return;
    running.delete(key);
    shared.client.close();
  };
  return { client: shared.client, release };
}
