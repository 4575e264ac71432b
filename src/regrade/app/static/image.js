// The image of an item. If it cannot be shown, a notice offers to retry, report or skip it, and votes are blocked until the
// whole image is visible.

import { call, explain, request, SIGNED_OUT, serviceErrorOf } from "./sending.js";

const by = (id) => document.getElementById(id);

export class ItemImage {
  // appeared() is called when an image becomes visible after a retry; skip() and report(comment) are up to the page.
  constructor(queue, { appeared, skip, report }) {
    Object.assign(this, { queue, appeared });
    this.loads = 0;
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
    return this.load(item.image);
  }

  async retry() {
    if (!this.broken) return;
    const { item } = this;
    try { // images that were missing in the workspace may have been added meanwhile
      item.image ??= (await call(`/api/queues/${this.queue}/items/${item.id}`)).item.image;
    } catch (error) {
      by("no-image-reason").textContent = explain(error);
      return;
    }
    if (item !== this.item) return; // another item is shown by now
    if (await this.load(item.image && `${item.image}?attempt=${this.loads}`)) this.appeared();
  }

  async load(address) {
    this.loads += 1;
    const load = this.loads;
    const visible = Boolean(address) && (await isVisible(by("image"), address));
    if (load !== this.loads) return false; // another image was requested meanwhile
    const first = !this.broken;
    by("image").hidden = !visible;
    by("no-image").hidden = visible;
    for (const answers of document.querySelectorAll(".answers")) answers.inert = !visible;
    if (visible) return true;
    if (first) by("retry").focus({ preventScroll: true });
    const why = await reasonOf(address);
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
