/** What the app says of its models, below the form: where they come from, how large they are, what they are bad at. */

import { h } from "./dom.js";
import { variantFor } from "./variants.js";
import { bytes, t } from "./words.js";

/** @import { ModelCard, Site, SiteApp } from "./protocol.js" */

/**
 * @param {Site} site
 * @param {SiteApp} app
 * @returns {HTMLElement | null} null where the app has no card
 */
export function about(site, app) {
  const cards = app.cards ?? [];
  if (!cards.length) return null;
  const size = t("card_size_value", { size: bytes(modelBytes(site, app)) });
  return h("section", { class: "about", "aria-labelledby": "about-title" },
    h("h2", { id: "about-title" }, cards.length > 1 ? t("about_models") : t("about_model")),
    h("div", { class: "about-cards" }, ...cards.map((card) => description(card, cards.length > 1 ? "" : size))),
    cards.length > 1 && h("p", { class: "fine" }, `${t("card_size")}: ${size}`));
}

/** @param {ModelCard} card @param {string} size - "" where it stands elsewhere */
function description(card, size) {
  /** @type {[string, string][]} */
  const rows = [
    [t("card_source"), card.source],
    [t("card_licence"), card.licence],
    [t("card_size"), size],
    [t("card_trained_on"), card.trained_on],
    [t("card_limits"), card.limits],
  ];
  return h("div", { class: "about-card" },
    h("h3", { dir: "auto" }, card.name),
    h("dl", {}, ...rows.filter(([, text]) => text).map(([term, text]) => h("div", {}, h("dt", {}, term), h("dd", { dir: "auto" }, text)))));
}

/** Bytes of the models that a visitor without WebGPU loads. @param {Site} site @param {SiteApp} app */
export function modelBytes(site, app) {
  let total = 0;
  for (const id of Object.values(app.models)) {
    const model = site.models[id];
    if (model) total += (variantFor(model, "wasm") ?? model.variants[0])?.bytes ?? 0;
  }
  return total;
}
