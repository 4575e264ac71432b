// Two images compared: zoomed together, blinking in one place while a key or button is held, or as their difference.

import { noDialog } from "./keys.js";
import { zoomable } from "./zoom.js";

const INTERVAL = 350; // milliseconds that each image is visible while they blink
const by = (id) => document.getElementById(id);

export function comparison() {
  const place = by("pair-images");
  const [first, second] = place.querySelectorAll(".canvas");
  const lens = zoomable(first, by("image"), [[second, by("second")]]);
  let timer = null;

  const press = (id, on) => by(id).setAttribute("aria-pressed", String(on));
  const swap = () => { place.dataset.front = place.dataset.front === "second" ? "first" : "second"; };

  function overlay(mode) {
    // Stretches both images to the shape of the first, as distances compare them.
    const { naturalWidth, naturalHeight } = by("image");
    place.style.setProperty("--ratio", naturalWidth && naturalHeight ? naturalWidth / naturalHeight : 1);
    if (mode) place.dataset.overlay = mode;
    else delete place.dataset.overlay;
    press("difference", mode === "difference");
    press("blink", mode === "blink");
  }

  function begin() {
    if (timer !== null || !noDialog()) return;
    overlay("blink");
    place.dataset.front = "second";
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches; // then holding the key shows the second image
    timer = setInterval(still ? () => {} : swap, INTERVAL);
  }

  function end() {
    if (timer === null) return;
    clearInterval(timer);
    timer = null;
    delete place.dataset.front;
    overlay(null);
  }

  const difference = () => { end(); overlay(place.dataset.overlay ? null : "difference"); };
  const mirror = (on) => { place.classList.toggle("mirrored", on); press("mirror", place.classList.contains("mirrored")); };
  const reset = ({ mirrored = false } = {}) => { end(); overlay(null); lens.reset(); mirror(mirrored); };

  document.addEventListener("keyup", (event) => {
    if (event.key !== " " || timer === null) return;
    event.preventDefault(); // a focused button must not be pressed as well
    end();
  });
  window.addEventListener("blur", end);
  by("blink").addEventListener("pointerdown", begin);
  for (const kind of ["pointerup", "pointercancel", "pointerleave"]) by("blink").addEventListener(kind, end);
  by("difference").addEventListener("click", difference);
  by("mirror").addEventListener("click", () => mirror());
  return { keys: { " ": begin, x: difference, m: () => mirror(), ...lens.keys }, reset };
}
