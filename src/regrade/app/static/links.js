// People's words with the addresses in them as links: only http and https, and everything else stays text.

const ADDRESS = /https?:\/\/[^\s<>"']+/gi;
const AFTER = /[.,;:!?)\]}]+$/; // what closes a sentence, not an address

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
  // Nodes that show a text as it is.
  const nodes = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(ADDRESS)) {
    const shown = found.replace(AFTER, "");
    const anchor = link(shown);
    if (!anchor) continue;
    nodes.push(text.slice(end, index), anchor);
    end = index + shown.length;
  }
  return [...nodes, text.slice(end)].filter((node) => node !== "");
}
