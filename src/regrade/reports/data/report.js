// Makes a report's page interactive: figures are drawn when they come into view, a selected model is highlighted
// everywhere, tables can be sorted and filtered. The page makes no requests.
document.documentElement.classList.add("script");

async function unpacked(element) {
  const letters = atob(element.textContent), bytes = Uint8Array.from(letters, letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
const data = async element => JSON.parse(await unpacked(element));
const once = work => { let done; return () => done ??= work(); };
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

let selected = null;
const names = once(async () => new Set(await data(document.getElementById("names"))));
const vega = once(async () => {
  const script = document.createElement("script");
  script.textContent = await unpacked(document.getElementById("vega"));
  document.head.append(script);
});

// Figures

class Chart {
  constructor(figure) {
    this.figure = figure;
    this.target = figure.querySelector(".chart");
    this.spec = once(() => data(figure.querySelector(".data")));
    this.target.addEventListener("click", event => this.clicked(event.target));
  }

  async draw() {
    const room = this.target.clientWidth;
    if (!room || room === this.room) return;  // no room: in a folded part
    this.room = room;
    const [spec, modelNames] = await Promise.all([this.spec(), names(), vega()]);
    const fresh = document.createElement("div");
    fresh.hidden = true;
    this.target.append(fresh);
    const shown = await drawFitted(fresh, spec, room, {ast: true, logLevel: 1}, true);
    if (this.shown) this.shown.finalize();
    for (const child of [...this.target.children]) if (child !== fresh) child.remove();
    fresh.hidden = false;
    hideTouching(fresh);
    this.shown = shown;
    this.modelNames = modelNames;
    this.mark();
    this.target.dataset.drawn = room;
  }

  // The model names in a mark's row of data or in its text.
  names(element) {
    const item = element.__data__, matches = new Set();
    if (!item || !this.modelNames) return matches;
    let row = item.datum;
    while (row && row.datum) row = row.datum;
    const bare = value => typeof value === "string" ? value.replace(/ \([\d,.]+\)$/, "") : value;
    for (const value of [item.text, ...Object.values(row || {})].map(bare))
      if (this.modelNames.has(value)) matches.add(value);
    return matches;
  }

  mark() {
    if (!this.shown) return;
    for (const element of all(".role-mark > *, .role-axis-label > text", this.target)) {
      const shownNames = selected === null ? new Set() : this.names(element);
      element.classList.toggle("dimmed", shownNames.size > 0 && !shownNames.has(selected));
      element.classList.toggle("selected", shownNames.has(selected));
    }
  }

  clicked(element) {
    const shownNames = [...this.names(element)];
    if (shownNames.length) select(shownNames.includes(selected) ? null : shownNames[0]);
  }
}

const charts = all("figure").map(figure => new Chart(figure));
const seen = new IntersectionObserver(entries => {
  for (const {target, isIntersecting} of entries)
    if (isIntersecting) charts.find(chart => chart.figure === target).draw();
}, {rootMargin: "400px 0px"});
charts.forEach(chart => seen.observe(chart.figure));
let soon;
addEventListener("resize", () => {
  clearTimeout(soon);
  soon = setTimeout(() => charts.filter(chart => chart.shown).forEach(chart => chart.draw()), 150);
});

// Tables

class Rows {
  constructor(box) {
    this.box = box;
    this.body = box.querySelector("tbody");
    this.headings = all("th", box);
    this.filter = box.querySelector("input");
    this.counter = box.querySelector("output");
    this.cut = box.querySelector(".cut");
    this.more = box.querySelector(".all");
    this.by = null;
    this.whole = false;
    this.data = once(() => data(box.querySelector(".data")));
    this.frame = box.querySelector(".frame");
    this.region = box.querySelector(".scroll");
    this.region.addEventListener("scroll", () => this.markWidth(), {passive: true});
    new ResizeObserver(() => this.markWidth()).observe(this.region);
    this.headings.forEach((heading, column) =>
      heading.querySelector("button").addEventListener("click", () => this.sort(column)));
    this.filter.addEventListener("input", () => this.show());
    this.more.addEventListener("click", () => { this.whole = !this.whole; this.show(); });
    this.body.addEventListener("click", event => {
      const name = event.target.closest(".name");
      if (name) select(name.textContent === selected ? null : name.textContent);
    });
  }

  // Show whether there are columns that scrolling would reveal.
  markWidth() {
    const {scrollWidth, clientWidth, scrollLeft} = this.region;
    this.frame.classList.toggle("more", scrollWidth - clientWidth - scrollLeft > 2);
    this.box.querySelector(".sideways").hidden = scrollWidth - clientWidth <= 2;
  }

  async sort(column) {
    const {numeric} = await this.data();
    const first = numeric[column] ? "descending" : "ascending";
    const opposite = first === "ascending" ? "descending" : "ascending";
    const now = this.headings[column].getAttribute("aria-sort");
    const next = now === "none" ? first : now === first ? opposite : "none";
    this.headings.forEach(heading => heading.setAttribute("aria-sort", "none"));
    this.headings[column].setAttribute("aria-sort", next);
    this.by = next === "none" ? null : {column, sign: next === "ascending" ? 1 : -1};
    await this.show();
  }

  order({texts, keys}) {
    const query = this.filter.value.trim().toLowerCase();
    const rows = texts.map((_, row) => row)
      .filter(row => texts[row].some(text => text.toLowerCase().includes(query)));
    if (this.by) {
      const {column, sign} = this.by, key = keys[column];
      const compare = key
        ? (a, b) => (key[a] === null) - (key[b] === null) || sign * (key[a] - key[b])
        : (a, b) => sign * texts[a][column].localeCompare(texts[b][column], "en", {numeric: true});
      rows.sort((a, b) => compare(a, b) || a - b);
    }
    const mine = row => texts[row].includes(selected);
    return selected === null ? rows : [...rows.filter(mine), ...rows.filter(row => !mine(row))];
  }

  async show() {
    const [{texts, keys, numeric, first, all: every}, modelNames] = await Promise.all([this.data(), names()]);
    const rows = this.order({texts, keys}), shown = this.whole ? rows : rows.slice(0, first);
    this.body.replaceChildren(...shown.map(row => this.row(texts[row], numeric, modelNames)));
    const many = count => count.toLocaleString("en"), total = `${many(every)} row${every === 1 ? "" : "s"}`;
    this.counter.textContent = rows.length < every ? `${many(rows.length)} of ${total}` : total;
    this.more.hidden = rows.length <= first;
    this.more.textContent = this.whole ? `Show the first ${first} rows` : `Show all ${many(rows.length)} rows`;
    if (this.cut) this.cut.hidden = shown.length === every;
  }

  row(texts, numeric, modelNames) {
    const row = document.createElement("tr");
    row.classList.toggle("selected", selected !== null && texts.includes(selected));
    texts.forEach((text, column) => {
      const cell = row.insertCell();
      cell.className = text.length > 48 ? "long" : numeric[column] ? "number" : "";
      const [, value, interval] = text.match(/^(.*) (\[.*\])$/) || [];
      if (modelNames.has(text)) {
        const name = document.createElement("button");
        Object.assign(name, {type: "button", className: "name", textContent: text});
        cell.append(name);
      } else if (interval) {
        const apart = document.createElement("span");
        Object.assign(apart, {className: "interval", textContent: interval});
        cell.append(`${value} `, apart);
      } else cell.textContent = text;
    });
    return row;
  }
}

const tables = all(".table").map(box => new Rows(box));

// Selecting a model

const finder = document.getElementById("finder"), clear = document.getElementById("clear");
const finderStatus = document.getElementById("found");

async function select(name) {
  selected = name;
  finder.value = name ?? "";
  clear.hidden = name === null;
  charts.forEach(chart => chart.mark());
  await Promise.all(tables.map(table => table.show()));
  finderStatus.textContent =
    name === null ? "" : `${name} is highlighted in all figures, and its rows come first. Press Escape to show all.`;
  document.documentElement.dataset.selected = name ?? "";
}

finder.addEventListener("input", async () => {
  if (!finder.value && selected !== null) return select(null);
  if ((await names()).has(finder.value)) select(finder.value);
});
finder.addEventListener("keydown", async event => {
  if (event.key !== "Enter" || !finder.value) return;
  const query = finder.value.toLowerCase(), modelNames = [...await names()];
  const name = modelNames.find(model => model.toLowerCase().startsWith(query))
    ?? modelNames.find(model => model.toLowerCase().includes(query));
  if (name === undefined) finderStatus.textContent = `No model is called ${finder.value}.`; else select(name);
});
clear.addEventListener("click", () => { select(null); finder.focus(); });
addEventListener("keydown", event => { if (event.key === "Escape" && selected !== null) select(null); });

// Contents: mark the current section

const links = new Map(all(".contents a").map(link => [link.hash.slice(1), link]));
const places = [...links.keys()].map(id => document.getElementById(id)).filter(Boolean);
const inView = place => place.closest("details:not([open])") ?? place;
function markCurrentSection() {
  const above = places.filter(place => inView(place).getBoundingClientRect().top < innerHeight / 3);
  links.forEach(link => link.removeAttribute("aria-current"));
  links.get((above.at(-1) ?? places[0]).id).setAttribute("aria-current", "true");
}
let waiting = false;
addEventListener("scroll", () => {
  if (!waiting) requestAnimationFrame(() => { waiting = false; markCurrentSection(); });
  waiting = true;
}, {passive: true});
markCurrentSection();

// Open the folded parts around the target of a link

function reveal() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", reveal);
addEventListener("click", event => { if (event.target.closest("a")?.hash === location.hash) reveal(); });
reveal();

// Open all folded parts for printing

let opened = [];
addEventListener("beforeprint", () => { opened = all("details:not([open])"); opened.forEach(notes => { notes.open = true; }); });
addEventListener("afterprint", () => opened.forEach(notes => { notes.open = false; }));
