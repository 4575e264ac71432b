// A strip of small images.

import { sharpen } from "./sharp_pixels.js";

const SIDE = 160;

export function strip(place, addresses, none = "There are no images in other test sets.") {
  place.replaceChildren(...addresses.map((address) => {
    const image = new Image();
    image.alt = "";
    image.loading = "lazy";
    image.onerror = () => image.classList.add("missing");
    sharpen(image);
    image.src = `${address}?side=${SIDE}`;
    return image;
  }));
  if (!addresses.length) place.append(Object.assign(document.createElement("p"), { className: "quiet", textContent: none }));
}
