// The image of an item. One that cannot be shown is replaced by a notice: try again, report it, or skip it. Until the whole
// image can be seen, nothing that is answered counts.

import { call, explain, request, SIGNED_OUT, troubleOf } from "./sending.js";

const by = (id) => document.getElementById(id);

export class ItemImage {
  // appeared() is called when an image can be seen after all; skip() and report(comment) are up to the page.
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
    // Whether the image of an item can be seen; the notice is there if not.
    this.item = item;
    by("report-comment").value = "";
    by("no-image").hidden = true;
    return this.load(item.image);
  }

  async retry() {
    if (!this.broken) return;
    const { item } = this;
    try { // a test set whose images were not in the workspace may have them by now
      item.image ??= (await call(`/api/queues/${this.queue}/items/${item.id}`)).item.image;
    } catch (error) {
      by("no-image-reason").textContent = explain(error);
      return;
    }
    if (item !== this.item) return; // another one is shown by now
    if (await this.load(item.image && `${item.image}?attempt=${this.loads}`)) this.appeared();
  }

  async load(address) {
    this.loads += 1;
    const load = this.loads;
    const visible = Boolean(address) && (await canBeSeen(by("image"), address));
    if (load !== this.loads) return false; // another image was asked for meanwhile
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

async function canBeSeen(image, address) {
  image.src = address;
  try {
    await image.decode();
    (await createImageBitmap(image)).close(); // an image that breaks off halfway can be decoded, but not drawn
  } catch {
    return false;
  }
  return image.naturalWidth > 0;
}

async function reasonOf(address) {
  if (!address) return "The images of this test set are not in the workspace.";
  try {
    const answer = await request(address, undefined, { cache: "reload" });
    if (answer.redirected || answer.status === 401) return SIGNED_OUT;
    if (answer.status >= 500) throw troubleOf(answer);
    return answer.ok ? "The image did not arrive whole, or it is damaged." : "The image file is missing or damaged.";
  } catch (error) {
    return explain(error);
  }
}
