// The list of a panel: filters apply at once, J and K move between items.

import { onKeys } from "./keys.js";
import "./sharp_pixels.js";

const links = [...document.querySelectorAll(".topic a.whole")];
const filters = document.getElementById("filters");

function go(step) {
  const current = links.indexOf(document.activeElement);
  const next = current < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, current + step));
  links[next]?.focus();
}

filters?.addEventListener("change", () => filters.requestSubmit());
onKeys({ j: () => go(1), k: () => go(-1) });
