// The image of an item, or both images of a pair. If one cannot be shown, a notice offers to retry, report or skip it, and
// votes are blocked until everything is visible.

import { call, explain, request, SIGNED_OUT, serviceErrorOf } from "./sending.js";

const by = (id) => document.getElementById(id);
const SIDES = ["image", "second"]; // ids of the elements, and names of the addresses in an item

export class ItemImage {
  // appeared() is called when an image becomes visible after a retry; skip() and report(comment) are up to the page.
  constructor(queue, { appeared, skip, report }) {
    Object.assign(this, { queue, appeared });
    this.loads = 0;
    this.sides = SIDES.filter((side) => by(side));
    by("retry").addEventListener("click", () => this.retry());
    by("skip").addEventListener("click", () => skip());
    by("report").addEventListener("submit", (event) => {
      event.preventDefault();
      report(by("report-comment").value.trim());
    });
    window.addEventListener("online", () => this.retry());
  }

  get broken() { return !by("no-image").hidden; }

  async show(item) {
    // Resolves to whether the image is visible; shows the notice if not.
    this.item = item;
    by("report-comment").value = "";
    by("no-image").hidden = true;
    return this.load(item);
  }

  async retry() {
    if (!this.broken) return;
    const { item } = this;
    try { // images that were missing in the workspace may have been added meanwhile
      if (this.sides.some((side) => !item[side])) Object.assign(item, (await call(`/api/queues/${this.queue}/items/${item.id}`)).item);
    } catch (error) {
      by("no-image-reason").textContent = explain(error);
      return;
    }
    if (item !== this.item) return; // another item is shown by now
    if (await this.load(item, `?attempt=${this.loads}`)) this.appeared();
  }

  async load(item, query = "") {
    this.loads += 1;
    const load = this.loads;
    const addresses = this.sides.map((side) => item[side] && `${item[side]}${query}`);
    const shown = await Promise.all(addresses.map((address, place) => Boolean(address) && isVisible(by(this.sides[place]), address)));
    if (load !== this.loads) return false; // another image was requested meanwhile
    const [first, visible] = [!this.broken, shown.every(Boolean)];
    for (const side of this.sides) by(side).hidden = !visible;
    by("no-image").hidden = visible;
    for (const answers of document.querySelectorAll(".answers")) answers.inert = !visible;
    if (visible) return true;
    if (first) by("retry").focus({ preventScroll: true });
    const why = await reasonOf(addresses[shown.indexOf(false)]);
    if (load === this.loads) by("no-image-reason").textContent = why;
    return false;
  }
}

async function isVisible(image, address) {
  image.src = address;
  try {
    await image.decode();
    (await createImageBitmap(image)).close(); // a truncated image can be decoded, but not drawn
  } catch {
    return false;
  }
  return image.naturalWidth > 0;
}

async function reasonOf(address) {
  if (!address) return "The images of this test set are not in the workspace.";
  try {
    const response = await request(address, undefined, { cache: "reload" });
    if (response.redirected || response.status === 401) return SIGNED_OUT;
    if (response.status === 410) return "This image has changed since it was queued.";
    if (response.status >= 500) throw serviceErrorOf(response);
    return response.ok ? "The image is incomplete or damaged." : "The image file is missing or damaged.";
  } catch (error) {
    return explain(error);
  }
}
