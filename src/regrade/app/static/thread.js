// The discussion of an image in training: comments of the people who have answered about it, and a field for one more.

import { withLinks } from "./links.js";
import { call, clearRefusals, explain, mayPass, notice, showFailure, storageKey } from "./sending.js";

const POLL_INTERVAL = 4; // seconds

function row({ id, person, at, text }) {
  const [line, head, name, time, body] = ["li", "p", "strong", "time", "p"].map((kind) => document.createElement(kind));
  time.className = "quiet";
  time.dateTime = at;
  time.textContent = new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  name.textContent = person;
  head.append(name, " ", time);
  body.className = "text";
  body.append(...withLinks(text));
  line.dataset.id = id;
  line.append(head, body);
  return line;
}

export class Thread {
  constructor(section, queue) {
    this.section = section;
    this.queue = queue;
    this.list = section.querySelector(".comments");
    this.field = section.querySelector("textarea");
    this.item = null;
    section.querySelector("form").addEventListener("submit", (event) => { event.preventDefault(); this.send(); });
    this.field.addEventListener("input", () => sessionStorage.setItem(this.draft, this.field.value));
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.send();
      if (event.key === "Escape") this.field.blur();
    });
  }

  get draft() { return storageKey("comment", this.item); }

  get place() { return `/api/queues/${this.queue}/items/${this.item}/comments`; }

  open(item) {
    // Shows the discussion of an item; its right classes must be known to the person.
    this.item = item;
    this.list.replaceChildren();
    this.field.value = sessionStorage.getItem(this.draft) ?? "";
    return this.load();
  }

  close() { this.item = null; }

  follow() {
    // Shows comments of other people as they appear, as long as the discussion is open.
    setInterval(() => { if (this.item !== null && !document.hidden) this.load({ quiet: true }); }, 1000 * POLL_INTERVAL);
  }

  show(item, comments) {
    if (item !== this.item) return; // another image is shown meanwhile
    const shown = new Set([...this.list.children].map((line) => line.dataset.id));
    this.list.append(...comments.filter(({ id }) => !shown.has(String(id))).map(row));
  }

  async load({ quiet = false } = {}) {
    const { item } = this;
    try {
      this.show(item, (await call(this.place)).comments);
    } catch (error) {
      if (item === this.item && !(quiet && mayPass(error))) notice(`The comments cannot be loaded. ${explain(error)}`);
    }
  }

  async send() {
    const { item, draft } = this;
    const text = this.field.value.trim();
    if (!text) return;
    clearRefusals();
    try {
      const { comments } = await call(this.place, { text });
      sessionStorage.removeItem(draft);
      if (item === this.item) this.field.value = "";
      this.show(item, comments);
    } catch (error) {
      showFailure(error, { doing: "The comment was not sent." });
    }
  }
}
