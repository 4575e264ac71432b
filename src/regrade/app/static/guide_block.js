// The guide entry of a class as a collapsible block: traits, text, examples and similar classes.

import { call, explain } from "./sending.js";
import { strip } from "./strip.js";

const ALLOWED = new Set(["P", "UL", "OL", "LI", "STRONG", "EM", "S", "CODE", "PRE", "BLOCKQUOTE", "H3", "H4", "H5", "H6", "HR", "BR", "A",
  "TABLE", "THEAD", "TBODY", "TR", "TH", "TD"]);

export const guideAddress = (space, id) => `/guide/${encodeURIComponent(space)}/${id.split("/").map(encodeURIComponent).join("/")}`;

export function safeNodes(html) {
  // The server's HTML, rebuilt from allowed elements only.
  const copied = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE) return "";
    if (!ALLOWED.has(node.tagName)) return document.createTextNode(node.textContent);
    const copy = document.createElement(node.tagName);
    if (node.tagName === "A" && /^https?:\/\//i.test(node.getAttribute("href") ?? "")) {
      Object.assign(copy, { href: node.getAttribute("href"), target: "_blank", rel: "noopener noreferrer nofollow" });
    }
    copy.append(...[...node.childNodes].map(copied));
    return copy;
  };
  return [...new DOMParser().parseFromString(html, "text/html").body.childNodes].map(copied);
}

const create = (kind, className, ...content) => {
  const element = document.createElement(kind);
  if (className) element.className = className;
  element.append(...content);
  return element;
};

// Fills an element with the guide entry of a class; with compare(id), its similar classes become buttons.
export async function guideBlock(place, space, id, { queue = null, compare = null, open = false } = {}) {
  place.dataset.of = id;
  place.replaceChildren();
  let entry;
  try {
    entry = await call(`/api${guideAddress(space, id)}${queue ? `?queue=${queue}` : ""}`);
  } catch (error) {
    if (place.dataset.of === id) place.append(create("p", "quiet", `The guide entry cannot be loaded. ${explain(error)}`));
    return;
  }
  if (place.dataset.of !== id || !entry.written) return;
  const block = create("details", "guide-block", create("summary", "", "Guide"));
  block.open = open;
  if (entry.traits.length) block.append(create("ul", "traits", ...entry.traits.map((trait) => create("li", "", trait))));
  block.append(create("div", "prose", ...safeNodes(entry.html)));
  if (entry.examples.length) {
    const images = create("div", "strip");
    strip(images, entry.examples);
    block.append(images);
  }
  if (entry.alike.length) block.append(create("p", "quiet", "Looks like ", ...entry.alike.flatMap((similar, number) => [number ? ", " : "", similarClass(similar, compare)])));
  place.append(block);
}

function similarClass({ id, name }, compare) {
  if (!compare) return create("span", "", name);
  const button = create("button", "plain", name);
  button.title = "Compare with this class";
  button.addEventListener("click", () => compare(id));
  return button;
}
