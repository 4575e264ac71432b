// Explore: forms that submit on change, a zoomable image, and keys for the next and previous image.

import { onKeys } from "./keys.js";
import "./sharp_pixels.js";
import { zoomable } from "./zoom.js";

for (const form of document.querySelectorAll("form[data-at-once]")) {
  form.addEventListener("change", (event) => { if (event.target.matches("select")) form.requestSubmit(); });
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
}
onKeys(keys);
