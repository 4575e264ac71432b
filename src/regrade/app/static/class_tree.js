// The class tree: branches expand and collapse, arrow keys move, Enter or a click picks a class.

const LARGE = 1 / 3; // share of all classes; larger branches are expanded at the start

export class ClassTree {
  constructor(place, classes, picked) {
    Object.assign(this, { place, classes, picked });
    place.setAttribute("role", "tree");
    place.replaceChildren(...this.items(classes.tree[0]));
    this.openLarge(place);
    place.querySelector("[role=treeitem]")?.setAttribute("tabindex", "0");
    place.addEventListener("keydown", (event) => this.key(event));
    place.addEventListener("click", (event) => this.click(event));
  }

  openLarge(place) {
    for (const item of place.querySelectorAll(":scope > [data-branch]")) {
      const { count } = this.classes.tree[item.dataset.branch];
      if (count <= LARGE * this.classes.all.length) continue;
      this.expand(item, true);
      this.openLarge(item.lastElementChild);
    }
  }

  items(branch) {
    return [
      ...branch.branches.map((number) => this.item(this.classes.tree[number], { branch: number })),
      ...branch.classes.map((index) => this.item(this.classes.all[index], { index })),
    ];
  }

  item(of, { branch, index }) {
    const item = document.createElement("div");
    item.setAttribute("role", "treeitem");
    item.tabIndex = -1;
    const line = document.createElement("span");
    line.className = "line";
    line.append(of.name);
    if (branch !== undefined) {
      item.dataset.branch = branch;
      item.setAttribute("aria-expanded", "false");
      const count = document.createElement("span");
      count.className = "quiet";
      count.textContent = of.count.toLocaleString("en");
      line.append(" ", count);
    } else {
      item.dataset.index = index;
      if (of.definition) line.title = of.definition;
    }
    item.append(line);
    return item;
  }

  expand(item, open = item.getAttribute("aria-expanded") !== "true") {
    item.setAttribute("aria-expanded", String(open));
    if (open && !item.querySelector(":scope > [role=group]")) {
      const group = document.createElement("div");
      group.setAttribute("role", "group");
      group.append(...this.items(this.classes.tree[item.dataset.branch]));
      item.append(group);
    }
  }

  act(item) {
    if (item.dataset.branch !== undefined) this.expand(item);
    else this.picked(this.classes.all[item.dataset.index]);
  }

  click(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item) return;
    this.focus(item);
    this.act(item);
  }

  focus(item) {
    if (!item) return;
    this.place.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
    item.tabIndex = 0;
    item.focus();
  }

  get shown() { return [...this.place.querySelectorAll("[role=treeitem]")].filter((item) => item.checkVisibility()); }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const item = event.target.closest("[role=treeitem]");
    if (!item) return;
    const open = item.getAttribute("aria-expanded");
    const parent = item.parentElement.closest("[role=treeitem]");
    const step = (by) => this.focus(this.shown[this.shown.indexOf(item) + by]);
    const acts = {
      ArrowDown: () => step(1),
      ArrowUp: () => (this.shown[0] === item ? this.left?.() : step(-1)),
      ArrowRight: () => { if (open === "false") this.expand(item, true); else if (open === "true") step(1); },
      ArrowLeft: () => { if (open === "true") this.expand(item, false); else this.focus(parent); },
      Home: () => this.focus(this.shown[0]),
      End: () => this.focus(this.shown.at(-1)),
      Enter: () => { if (!event.repeat) this.act(item); },
      " ": () => { if (!event.repeat) this.act(item); },
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    acts[event.key]();
  }
}
