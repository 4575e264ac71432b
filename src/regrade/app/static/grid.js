// A grid of images to select: by click or tap, rectangle, range and keyboard. Press and hold, or E, enlarges an image.

const HOLD = 400; // milliseconds until a press enlarges
const SLACK = 8; // pixels that a press may move

export class Grid {
  // changed() is called after every change of the selection; large is the figure for the enlarged image.
  constructor(place, large, { changed }) {
    Object.assign(this, { place, large, changed });
    this.tiles = [];
    this.press = null;
    this.locked = true;
    place.addEventListener("pointerdown", (event) => this.begin(event));
    window.addEventListener("pointermove", (event) => this.move(event)); // a rectangle may leave the grid
    window.addEventListener("pointerup", (event) => this.end(event));
    window.addEventListener("pointercancel", () => this.cancel());
    place.addEventListener("mousedown", (event) => event.preventDefault()); // a drag would select text and end the press
    place.addEventListener("click", (event) => { if (event.detail === 0) this.toggle(this.indexAt(event.target)); }); // assistive technology
    place.addEventListener("contextmenu", (event) => event.preventDefault()); // a long press on a tablet
    place.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") this.cancel(); });
    window.addEventListener("blur", () => this.cancel());
  }

  show(addresses, chosen = []) {
    // Shows images; resolves to the addresses of those that cannot be shown.
    this.cancel();
    this.anchor = 0;
    this.tiles = addresses.map((address, index) => tileOf(address, index));
    this.place.replaceChildren(...this.tiles);
    this.tiles.forEach((tile) => { tile.ariaSelected = String(chosen.includes(tile.dataset.name)); });
    this.tiles[0].tabIndex = 0;
    this.changed();
    return this.load();
  }

  async load() {
    const images = this.tiles.map((tile) => tile.querySelector("img"));
    const visible = await Promise.all(images.map((image) => isVisible(image)));
    return images.filter((_, index) => !visible[index]).map((image) => image.src);
  }

  reload() {
    // Requests the images that could not be shown again.
    for (const image of this.tiles.map((tile) => tile.querySelector("img")).filter((shown) => !shown.naturalWidth)) {
      image.src = `${image.src.split("?")[0]}?attempt=${Date.now()}`;
    }
    return this.load();
  }

  get selected() { return this.tiles.filter((tile) => tile.ariaSelected === "true").map((tile) => tile.dataset.name); }

  get columns() { return this.tiles.filter((tile) => tile.offsetTop === this.tiles[0].offsetTop).length; }

  get focused() { return this.tiles.findIndex((tile) => tile.tabIndex === 0); }

  indexAt(target) { return this.tiles.indexOf(target.closest?.("[role=option]")); }

  set(indices, on) {
    if (this.locked) return;
    indices.forEach((index) => { this.tiles[index].ariaSelected = String(on); });
    this.changed();
    if (this.enlarged !== undefined) this.caption();
  }

  toggle(index) {
    if (index < 0) return;
    this.set([index], this.tiles[index].ariaSelected !== "true");
    this.anchor = index;
  }

  range(first, last) {
    const [low, high] = [Math.min(first, last), Math.max(first, last)];
    this.set([...this.tiles.keys()].slice(low, high + 1), true);
  }

  focus(index) {
    this.tiles.forEach((tile, place) => { tile.tabIndex = place === index ? 0 : -1; });
    this.tiles[index].focus();
    if (this.enlarged !== undefined) this.enlarge(index);
  }

  // Mouse, pen and touch

  begin(event) {
    if (event.button !== 0 || this.press) return;
    const index = this.indexAt(event.target);
    this.close();
    this.press = { index, x: event.clientX, y: event.clientY, id: event.pointerId, touch: event.pointerType === "touch" };
    if (index >= 0) this.press.timer = setTimeout(() => { this.press.held = true; this.enlarge(index); }, HOLD);
  }

  move(event) {
    const { press } = this;
    if (!press || press.id !== event.pointerId || press.held) return;
    if (!press.box && Math.hypot(event.clientX - press.x, event.clientY - press.y) < SLACK) return;
    clearTimeout(press.timer);
    if (press.touch) { this.cancel(); return; } // it scrolls
    if (!press.box) {
      press.box = Object.assign(document.createElement("div"), { className: "rectangle" });
      this.place.append(press.box);
    }
    this.draw(event);
  }

  draw(event) {
    const { press } = this;
    const frame = this.place.getBoundingClientRect();
    const [left, right] = [press.x, event.clientX].sort((a, b) => a - b);
    const [top, bottom] = [press.y, event.clientY].sort((a, b) => a - b);
    Object.assign(press.box.style, { left: `${left - frame.left}px`, top: `${top - frame.top}px`, width: `${right - left}px`, height: `${bottom - top}px` });
    press.box.classList.toggle("removing", event.altKey);
    press.inside = this.tiles.map((tile) => tile.getBoundingClientRect())
      .flatMap((box, index) => (box.left < right && box.right > left && box.top < bottom && box.bottom > top ? [index] : []));
    this.tiles.forEach((tile, index) => tile.classList.toggle("inside", press.inside.includes(index)));
  }

  end(event) {
    const { press } = this;
    if (!press || press.id !== event.pointerId) return;
    const { index, held, box, inside } = press;
    this.cancel();
    if (box) this.set(inside, !event.altKey);
    else if (!held && index >= 0) {
      if (event.shiftKey) this.range(this.anchor, index);
      else this.toggle(index);
      this.focus(index);
    }
  }

  cancel() {
    // Ends a press or a rectangle without a change, and closes the enlarged image.
    clearTimeout(this.press?.timer);
    this.press?.box?.remove();
    this.tiles.forEach((tile) => tile.classList.remove("inside"));
    this.press = null;
    this.close();
  }

  // The enlarged image

  enlarge(index) {
    this.enlarged = index;
    this.large.querySelector("img").src = this.tiles[index].querySelector("img").src;
    this.caption();
    this.large.hidden = false;
  }

  caption() {
    const chosen = this.tiles[this.enlarged].ariaSelected === "true";
    this.large.classList.toggle("chosen", chosen);
    this.large.querySelector("figcaption").textContent = `Image ${this.enlarged + 1}: ${chosen ? "selected" : "not selected"}`;
  }

  close() {
    this.large.hidden = true;
    this.enlarged = undefined;
  }

  // Keyboard

  key(event) {
    const from = this.focused;
    if (from < 0 || event.altKey) return;
    const control = event.ctrlKey || event.metaKey;
    const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns, Home: -from, End: this.tiles.length - 1 - from };
    if (event.key in moves && !control) this.step(from, from + moves[event.key], event.shiftKey);
    else if (event.key.toLowerCase() === "a" && control) this.set([...this.tiles.keys()], true);
    else if (event.key === " " || (event.key === "Enter" && !control)) this.toggle(from);
    else if (event.key.toLowerCase() === "e" && !control) { if (this.enlarged === undefined) this.enlarge(from); else this.close(); } else return;
    event.preventDefault();
  }

  step(from, to, extending) {
    if (to < 0 || to >= this.tiles.length) return;
    if (extending) this.range(from, to);
    else this.anchor = to;
    this.focus(to);
  }
}

function tileOf(address, index) {
  const tile = document.createElement("div");
  const image = Object.assign(new Image(), { alt: "", draggable: false, src: address });
  Object.assign(tile, { className: "tile", role: "option", tabIndex: -1, ariaLabel: `Image ${index + 1}` });
  tile.dataset.name = address.split("/").at(-1);
  tile.append(image);
  return tile;
}

async function isVisible(image) {
  try {
    await image.decode();
  } catch {
    return false;
  }
  return image.naturalWidth > 0;
}
