// The folded panel "Why?": the likely causes of a mistake. They are requested when it is opened, after the own answer.

import { sharpen } from "./sharp_pixels.js";
import { call, explain } from "./sending.js";

const SIDE = 160; // pixels
const by = (id) => document.getElementById(id);
const panel = by("causes");

function create(kind, className, ...content) {
  const element = document.createElement(kind);
  if (className) element.className = className;
  element.append(...content.filter((part) => part !== null));
  return element;
}

const quiet = (...content) => create("p", "quiet", ...content);
const part = (heading, ...content) => create("section", "", create("h3", "", heading), ...content);

function thumbnail(address, alt) {
  const image = new Image();
  image.alt = alt;
  image.onerror = () => image.classList.add("missing");
  sharpen(image);
  image.src = `${address}?side=${SIDE}`;
  return image;
}

function trainingImage({ image, page, label, is_predicted: predicted, distance, duplicate }) {
  const link = create("a", "", image ? thumbnail(image, `Training image: ${label}`) : create("span", "quiet", "no image"));
  Object.assign(link, { href: page, target: "_blank", rel: "noopener" });
  const words = [create("span", predicted ? "predicted" : "", label), create("span", "quiet", distance)];
  return create("li", "", link, ...words, duplicate ? create("strong", "duplicate", `${duplicate} duplicate`) : null);
}

function nearest({ training_set: set, model, images, hidden, note }) {
  const predicted = images.filter((image) => image.is_predicted).length;
  const count = images.length ? quiet(`${predicted} of ${images.length} have the predicted class. From ${set}, by embeddings of ${model}, with cosine distances.`) : null;
  const withheld = hidden ? quiet(`${hidden} not shown: you still have to answer about them, or they are part of an examination.`) : null;
  return part("Nearest training images", note ? quiet(note) : null, count, images.length ? create("ol", "nearest", ...images.map(trainingImage)) : null, withheld);
}

function table(headings, rows) {
  const line = (cell, texts) => create("tr", "", ...texts.map((text) => create(cell, "", text)));
  return create("div", "scroll", create("table", "", create("thead", "", line("th", headings)), create("tbody", "", ...rows.map((texts) => line("td", texts)))));
}

function facts(rows) {
  return create("dl", "facts", ...rows.flatMap(({ heading, text }) => [create("dt", "", heading), create("dd", "", text)]));
}

function content({ withheld, name, image, best, other_models: otherModels, facts: rows, neighbors }) {
  if (withheld) return [quiet(`The likely causes are ${withheld}.`)];
  const models = (names) => names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
  return [
    create("div", "mistaken", image ? thumbnail(image, "The image of your last answer") : "", create("p", "", "Predicted: ", create("strong", "", name))),
    nearest(neighbors),
    best.length ? part("Best classes of the model", table(["class", "score"], best.map((row) => [row.name, row.score]))) : null,
    otherModels.length ? part("Other models", table(["class", "models", ""], otherModels.map((row) => [row.name, row.models.length.toLocaleString("en"), models(row.models)]))) : null,
    rows.length ? part("What is stored about the image", facts(rows)) : null,
  ].filter(Boolean);
}

async function load() {
  const { queue, item } = panel.dataset;
  by("causes-content").replaceChildren(quiet("Loading …"));
  let shown;
  try {
    shown = content(await call(`/api/queues/${queue}/items/${item}/causes`));
  } catch (error) {
    shown = [quiet(`The likely causes cannot be loaded. ${explain(error)}`)];
  }
  if (panel.dataset.item === item) by("causes-content").replaceChildren(...shown);
}

// Offers the causes of an item whose answer is stored; the panel is folded again.
export function offerWhy(queue, item, words) {
  if (panel.dataset.item === String(item) && !panel.hidden) return;
  Object.assign(panel.dataset, { queue, item });
  by("causes-of").textContent = words;
  by("causes-content").replaceChildren();
  panel.open = false;
  panel.hidden = false;
}

export function withdrawWhy() {
  if (!panel) return;
  panel.hidden = true;
  panel.open = false;
  delete panel.dataset.item;
  by("causes-content").replaceChildren();
}

export function toggleWhy() {
  if (panel.hidden) return;
  panel.open = !panel.open;
  panel.querySelector("summary").focus();
}

panel?.addEventListener("toggle", () => { if (panel.open && !panel.hidden) load(); });
