// Shows tiny images with sharp pixels.

const TINY = 96; // pixels

export function sharpen(image) {
  // Marks an image as tiny or not, now and whenever it loads.
  const mark = () => {
    const longer = Math.max(image.naturalWidth, image.naturalHeight);
    image.classList.toggle("tiny", longer > 0 && longer <= TINY);
  };
  image.addEventListener("load", mark);
  mark();
}

document.querySelectorAll(".grid img, .strip img, .topic img, .proposed-image").forEach(sharpen);
