// Explore: forms that submit on change, a zoomable image, and keys for the next and previous image.

import { onKeys } from "./keys.js";
import { zoomable } from "./zoom.js";

const TINY = 96;

for (const form of document.querySelectorAll("form[data-at-once]")) {
  form.addEventListener("change", (event) => { if (event.target.matches("select")) form.requestSubmit(); });
}

for (const image of document.querySelectorAll(".grid img, .strip img")) {
  const mark = () => image.classList.toggle("tiny", image.naturalWidth > 0 && image.naturalWidth <= TINY);
  if (image.complete) mark(); else image.addEventListener("load", mark);
}

const image = document.getElementById("image");
const go = (which) => () => document.querySelector(`.trail a[rel="${which}"]`)?.click();
const keys = { j: go("next"), k: go("prev") };
if (image) {
  const lens = zoomable(image.closest(".canvas"), image);
  const moves = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
  for (const [key, act] of Object.entries(lens.keys)) if (!moves.includes(key)) keys[key] = act;
  image.closest(".canvas").addEventListener("keydown", (event) => {
    if (!moves.includes(event.key) || !lens.zoomed()) return;
    event.preventDefault();
    lens.keys[event.key]();
  });
  if (image.complete) image.dispatchEvent(new Event("load"));
}
onKeys(keys);
