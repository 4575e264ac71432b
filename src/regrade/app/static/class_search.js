// A field that finds classes as someone types: arrows move in the list, Enter or a click picks.

export class ClassSearch {
  // picked(class) is called with what was chosen; changed(query) with what is typed.
  constructor(field, list, classes, { picked, changed = () => {} }) {
    Object.assign(this, { field, list, classes, picked, changed });
    this.found = [];
    this.at = 0;
    this.among = null; // a family that the search keeps to, all of which is listed before anything is typed
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
    const asked = Boolean(query.trim());
    this.found = !asked && this.among ? this.classes.within(this.among) : this.classes.search(query, { among: this.among });
    this.at = asked ? 0 : -1; // Enter takes nothing that no one has asked for
    this.list.replaceChildren(...this.found.map((one, place) => this.row(one, place)));
    if (asked && !this.found.length) this.list.append(nothing());
    this.list.hidden = !asked && !this.among;
    this.field.setAttribute("aria-expanded", String(this.found.length > 0));
    this.mark();
    this.changed(query);
  }

  row(one, place) {
    const row = document.createElement("div");
    row.setAttribute("role", "option");
    row.id = `${this.list.id}-${place}`;
    row.dataset.place = place;
    for (const [kind, text] of [["b", one.name], ["span", one.words.join(", ")], ["small", one.definition]]) {
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
    if (!this.found[this.at]) return this.field.removeAttribute("aria-activedescendant");
    this.field.setAttribute("aria-activedescendant", row.id);
    return row.scrollIntoView({ block: "nearest" });
  }

  move(by) {
    this.at = Math.min(this.found.length - 1, Math.max(0, this.at + by));
    this.mark();
  }

  pick(place) {
    const one = this.found[place];
    if (one) this.picked(one);
  }

  key(event) {
    const acts = {
      ArrowDown: () => (this.found.length ? this.move(1) : this.below?.()),
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

function nothing() {
  const said = document.createElement("p");
  said.className = "quiet";
  said.textContent = "No class is called that. Try another word, or clear the search and look through all classes.";
  return said;
}
