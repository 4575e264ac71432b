// Turns http and https addresses in a text into links; everything else stays text.

const ADDRESS = /https?:\/\/[^\s<>"']+/gi;
const TRAILING = /[.,;:!?)\]}]+$/; // punctuation after an address

function link(text) {
  let address;
  try { address = new URL(text); } catch { return null; }
  if (address.protocol !== "http:" && address.protocol !== "https:") return null;
  const anchor = document.createElement("a");
  anchor.href = address.href;
  anchor.textContent = text;
  anchor.target = "_blank";
  anchor.rel = "noopener noreferrer nofollow";
  return anchor;
}

export function withLinks(text) {
  // Text nodes and links.
  const nodes = [];
  let end = 0;
  for (const { 0: match, index } of text.matchAll(ADDRESS)) {
    const shown = match.replace(TRAILING, "");
    const anchor = link(shown);
    if (!anchor) continue;
    nodes.push(text.slice(end, index), anchor);
    end = index + shown.length;
  }
  return [...nodes, text.slice(end)].filter((node) => node !== "");
}
