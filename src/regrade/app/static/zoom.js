// A zoomable image, or several that are zoomed together: wheel, pinch, drag, + - 0 and the arrow keys.

import { sharpen } from "./sharp_pixels.js";

const MAX_SCALE = 12;
const isMirrored = (place) => new DOMMatrix(getComputedStyle(place).transform).a < 0;

export function zoomable(canvas, image, more = []) {
  // more are further pairs of canvas and image, of the same size.
  const all = [[canvas, image], ...more];
  let scale = 1, x = 0, y = 0;
  const fingers = new Map();

  const draw = () => {
    for (const [, drawn] of all) drawn.style.transform = scale === 1 ? "" : `translate(${x}px, ${y}px) scale(${scale})`;
  };
  const reset = () => { scale = 1; x = 0; y = 0; draw(); };
  const zoom = (factor, atX, atY) => {
    const next = Math.min(MAX_SCALE, Math.max(1, scale * factor));
    x = atX - (atX - x) * (next / scale);
    y = atY - (atY - y) * (next / scale);
    scale = next;
    if (scale === 1) reset(); else draw();
  };
  const middle = (factor) => zoom(factor, image.clientWidth / 2, image.clientHeight / 2);
  const inside = (event) => {
    const [place, drawn] = all.find(([under]) => under === event.currentTarget);
    const box = place.getBoundingClientRect();
    const across = isMirrored(place) ? box.right - event.clientX : event.clientX - box.left;
    return [across - drawn.offsetLeft, event.clientY - box.top - drawn.offsetTop];
  };

  for (const [, drawn] of all) sharpen(drawn);
  for (const [place] of all) listen(place);
  function listen(place) {
    place.addEventListener("wheel", (event) => { event.preventDefault(); zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, ...inside(event)); }, { passive: false });
    place.addEventListener("dblclick", (event) => (scale > 1 ? reset() : zoom(3, ...inside(event))));
    place.addEventListener("pointerdown", (event) => { place.setPointerCapture(event.pointerId); fingers.set(event.pointerId, event); });
    place.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      if (fingers.size === 2) {
        const second = [...fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
        const distance = (first) => Math.hypot(first.clientX - second.clientX, first.clientY - second.clientY);
        zoom(distance(event) / Math.max(1, distance(before)), ...inside(event));
      } else if (scale > 1) {
        x += (isMirrored(place) ? -1 : 1) * (event.clientX - before.clientX);
        y += event.clientY - before.clientY;
        draw();
      }
      fingers.set(event.pointerId, event);
    });
    for (const kind of ["pointerup", "pointercancel"]) place.addEventListener(kind, (event) => fingers.delete(event.pointerId));
  }
  const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
  const keys = {
    "+": () => middle(1.4), "=": () => middle(1.4), "-": () => middle(1 / 1.4), 0: reset,
    ...Object.fromEntries(Object.entries(moves).map(([key, [dx, dy]]) => [key, () => { if (scale > 1) { x += dx; y += dy; draw(); } }])),
  };
  return { keys, reset, zoomed: () => scale > 1 };
}
