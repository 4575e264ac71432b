// The list of a panel: filters apply at once, J and K go from card to card.

import { onKeys } from "./keys.js";

const TINY = 96; // pixels below which every one of them is shown as a square
const cards = [...document.querySelectorAll(".topic a.whole")];
const filters = document.getElementById("filters");

function go(step) {
  const here = cards.indexOf(document.activeElement);
  const next = here < 0 ? (step > 0 ? 0 : cards.length - 1) : Math.min(cards.length - 1, Math.max(0, here + step));
  cards[next]?.focus();
}

for (const image of document.querySelectorAll(".topic img")) {
  const sharpen = () => image.classList.toggle("tiny", image.naturalWidth > 0 && image.naturalWidth <= TINY);
  image.addEventListener("load", sharpen);
  sharpen();
}
filters?.addEventListener("change", () => filters.requestSubmit());
onKeys({ j: () => go(1), k: () => go(-1) });
