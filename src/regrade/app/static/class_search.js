// A search field for classes: arrow keys move in the list, Enter or a click picks.

export class ClassSearch {
  // picked(class) gets the chosen class, changed(query) the typed text.
  constructor(field, list, classes, { picked, changed = () => {} }) {
    Object.assign(this, { field, list, classes, picked, changed });
    this.matches = [];
    this.at = 0;
    this.among = null; // restricts the search to a family, which is listed before anything is typed
    field.setAttribute("role", "combobox");
    field.setAttribute("aria-controls", list.id);
    field.setAttribute("aria-autocomplete", "list");
    list.setAttribute("role", "listbox");
    field.addEventListener("input", () => this.look());
    field.addEventListener("keydown", (event) => this.key(event));
    list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
    list.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (row) this.pick(Number(row.dataset.place));
    });
    this.look();
  }

  clear() {
    this.field.value = "";
    this.look();
  }

  look() {
    const query = this.field.value;
    const hasQuery = Boolean(query.trim());
    this.matches = !hasQuery && this.among ? this.classes.within(this.among) : this.classes.search(query, { among: this.among });
    this.at = hasQuery ? 0 : -1; // without a query, Enter picks nothing
    this.list.replaceChildren(...this.matches.map((match, place) => this.row(match, place)));
    if (hasQuery && !this.matches.length) this.list.append(noMatch());
    this.list.hidden = !hasQuery && !this.among;
    this.field.setAttribute("aria-expanded", String(this.matches.length > 0));
    this.mark();
    this.changed(query);
  }

  row(match, place) {
    const row = document.createElement("div");
    row.setAttribute("role", "option");
    row.id = `${this.list.id}-${place}`;
    row.dataset.place = place;
    for (const [kind, text] of [["b", match.name], ["span", match.words.join(", ")], ["small", match.definition]]) {
      if (!text) continue;
      const part = document.createElement(kind);
      part.textContent = text;
      row.append(part, " ");
    }
    return row;
  }

  mark() {
    [...this.list.querySelectorAll("[role=option]")].forEach((row, place) => row.setAttribute("aria-selected", String(place === this.at)));
    const row = this.list.children[this.at];
    if (!this.matches[this.at]) return this.field.removeAttribute("aria-activedescendant");
    this.field.setAttribute("aria-activedescendant", row.id);
    return row.scrollIntoView({ block: "nearest" });
  }

  move(by) {
    this.at = Math.min(this.matches.length - 1, Math.max(0, this.at + by));
    this.mark();
  }

  pick(place) {
    const match = this.matches[place];
    if (match) this.picked(match);
  }

  key(event) {
    const acts = {
      ArrowDown: () => (this.matches.length ? this.move(1) : this.below?.()),
      ArrowUp: () => this.move(-1),
      PageDown: () => this.move(8),
      PageUp: () => this.move(-8),
      Enter: () => { if (!event.repeat) this.pick(this.at); },
      Escape: () => this.escaped?.(),
    };
    if (!acts[event.key] || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    acts[event.key]();
  }
}

function noMatch() {
  const text = document.createElement("p");
  text.className = "quiet";
  text.textContent = "No class matches. Try another word, or clear the search to browse all classes.";
  return text;
}
