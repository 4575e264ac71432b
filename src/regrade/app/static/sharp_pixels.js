// Shows tiny images with sharp pixels.

const TINY = 96;

for (const image of document.querySelectorAll(".strip img")) {
  const mark = () => image.classList.toggle("tiny", image.naturalWidth > 0 && image.naturalWidth <= TINY);
  image.addEventListener("load", mark);
  mark();
}
