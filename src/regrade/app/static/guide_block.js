// The guide's entry on a class as a block that opens: traits, text, examples, and the classes it is taken for.

import { call, explain } from "./sending.js";
import { strip } from "./strip.js";

const KEPT = new Set(["P", "UL", "OL", "LI", "STRONG", "EM", "S", "CODE", "PRE", "BLOCKQUOTE", "H3", "H4", "H5", "H6", "HR", "BR", "A",
  "TABLE", "THEAD", "TBODY", "TR", "TH", "TD"]);

export const guideAddress = (space, id) => `/guide/${encodeURIComponent(space)}/${id.split("/").map(encodeURIComponent).join("/")}`;

export function formatted(html) {
  // The server's formatted text, built again from the few elements that it may have.
  const copied = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE) return "";
    if (!KEPT.has(node.tagName)) return document.createTextNode(node.textContent);
    const made = document.createElement(node.tagName);
    if (node.tagName === "A" && /^https?:\/\//i.test(node.getAttribute("href") ?? "")) {
      Object.assign(made, { href: node.getAttribute("href"), target: "_blank", rel: "noopener noreferrer nofollow" });
    }
    made.append(...[...node.childNodes].map(copied));
    return made;
  };
  return [...new DOMParser().parseFromString(html, "text/html").body.childNodes].map(copied);
}

const made = (kind, className, ...content) => {
  const element = document.createElement(kind);
  if (className) element.className = className;
  element.append(...content);
  return element;
};

// Fills a place with the entry on a class; compare(id), if given, makes buttons of the classes it is taken for.
export async function guideBlock(place, space, id, { queue = null, compare = null, open = false } = {}) {
  place.dataset.of = id;
  place.replaceChildren();
  let entry;
  try {
    entry = await call(`/api${guideAddress(space, id)}${queue ? `?queue=${queue}` : ""}`);
  } catch (error) {
    if (place.dataset.of === id) place.append(made("p", "quiet", `The guide's entry cannot be loaded. ${explain(error)}`));
    return;
  }
  if (place.dataset.of !== id || !entry.written) return;
  const block = made("details", "guide-block", made("summary", "", "Guide"));
  block.open = open;
  if (entry.traits.length) block.append(made("ul", "traits", ...entry.traits.map((trait) => made("li", "", trait))));
  block.append(made("div", "prose", ...formatted(entry.html)));
  if (entry.examples.length) {
    const images = made("div", "strip");
    strip(images, entry.examples);
    block.append(images);
  }
  if (entry.alike.length) block.append(made("p", "quiet", "Looks like ", ...entry.alike.flatMap((one, number) => [number ? ", " : "", other(space, one, compare)])));
  place.append(block);
}

function other(space, one, compare) {
  if (!compare) return made("span", "", one.name);
  const button = made("button", "plain", one.name);
  button.title = "Compare with it";
  button.addEventListener("click", () => compare(one.id));
  return button;
}
