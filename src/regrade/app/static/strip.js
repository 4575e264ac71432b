// A strip of small images.

const SIDE = 160;
const TINY = 96; // pixels; images up to this size are shown with sharp pixels

export function strip(place, addresses, none = "There are no images in other test sets.") {
  place.replaceChildren(...addresses.map((address) => {
    const image = new Image();
    image.alt = "";
    image.loading = "lazy";
    image.onerror = () => image.classList.add("missing");
    image.onload = () => image.classList.toggle("tiny", image.naturalWidth <= TINY);
    image.src = `${address}?side=${SIDE}`;
    return image;
  }));
  if (!addresses.length) place.append(Object.assign(document.createElement("p"), { className: "quiet", textContent: none }));
}
