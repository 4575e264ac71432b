// The classes of a space, fetched once, and the search over them: forgiving of case, hyphens, accents and plurals.

import { call } from "./sending.js";

const MOST = 60; // classes that a search finds at most
const TELLING = 3; // letters from which a query is looked for inside words and definitions

const plain = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
const words = (text) => plain(text).split(/[^\p{L}\p{N}]+/u).filter(Boolean);
const squeezed = (text) => words(text).join("");

export function singular(word) {
  if (word.length < 4 || /(ss|us|is)$/.test(word)) return word;
  return word.replace(/ies$/, "y").replace(/(x|ch|sh|ss)es$/, "$1").replace(/s$/, "");
}

const squeezedSingular = (text) => words(text).map(singular).join("");

export async function loadClasses(space) {
  return new Classes(await call(`/api/classes/${encodeURIComponent(space)}`, undefined, { cache: "no-cache" }));
}

export class Classes {
  constructor({ space, classes, tree, groups }) {
    this.space = space;
    this.all = classes.map(([id, name, others, definition], index) => ({ index, id, name, words: others, definition }));
    this.tree = tree.map(([name, branches, own, count]) => ({ name, branches, classes: own, count }));
    this.families = new Map(Object.entries(groups).map(([name, members]) => [name, new Set(members)]));
    this.byId = new Map(this.all.map((one) => [one.id, one]));
    this.entries = this.all.map(entry);
  }

  get(id) { return this.byId.get(id); }

  // The classes of a family, by name.
  within(family) {
    return this.all.filter((one) => family.has(one.index)).sort((one, other) => one.name.localeCompare(other.name, "en"));
  }

  // Classes that a query may mean, the likeliest first.
  search(query, { among = null } = {}) {
    const asked = question(query);
    if (!asked.words.length) return [];
    const found = [];
    for (const one of this.entries) {
      if (among && !among.has(one.of.index)) continue;
      const tier = rank(one, asked);
      if (tier !== null) found.push([tier, one.of]);
    }
    if (!found.length) found.push(...this.misspelled(asked, among));
    found.sort(([a, one], [b, other]) => a - b || one.name.length - other.name.length || one.name.localeCompare(other.name, "en"));
    return found.slice(0, MOST).map(([, one]) => one);
  }

  misspelled(asked, among) {
    // Classes with words a letter or two away from all that were typed, where nothing else was found.
    return this.entries.filter((one) => !among || among.has(one.of.index)).flatMap((one) => {
      const own = one.names.flatMap((name) => name.words);
      const away = asked.words.map((word) => Math.min(...own.map((each) => distance(word, each, allowed(word)))));
      return away.every((steps, place) => steps <= allowed(asked.words[place])) ? [[away.reduce((sum, steps) => sum + steps, 0), one.of]] : [];
    });
  }
}

function entry(of) {
  const names = [of.name, ...of.words].map((text) => ({
    words: words(text), stems: words(text).map(singular), whole: squeezed(text), stem: squeezedSingular(text),
  }));
  return { of, names, meaning: words(of.definition), id: plain(of.id) };
}

const question = (query) => ({
  words: words(query), stems: words(query).map(singular), whole: squeezed(query), stem: squeezedSingular(query), id: plain(query.trim()),
});

const everyWord = (asked, test) => asked.words.every((word, place) => test(word, asked.stems[place]));
const exact = (name, asked) => everyWord(asked, (word, stem) => name.words.includes(word) || name.stems.includes(stem));
const begun = (name, asked) => everyWord(asked, (word, stem) => name.words.some((own) => own.startsWith(word)) || name.stems.includes(stem));
const same = (name, asked) => name.whole === asked.whole || name.stem === asked.stem;

function rank(one, asked) {
  const [name, ...others] = one.names;
  if (one.id === asked.id || same(name, asked)) return 0;
  if (others.some((other) => same(other, asked))) return 1;
  if (exact(name, asked)) return 2;
  if (others.some((other) => exact(other, asked))) return 3;
  if (name.whole.startsWith(asked.whole)) return 4;
  if (begun(name, asked)) return 5;
  if (others.some((other) => begun(other, asked) || other.whole.startsWith(asked.whole))) return 6;
  if (asked.whole.length < TELLING) return null;
  if (one.names.some((own) => own.whole.includes(asked.whole))) return 7;
  const everything = [...one.meaning, ...one.names.flatMap((own) => own.words)];
  return everyWord(asked, (word, stem) => everything.some((own) => own.startsWith(word) || own === stem)) ? 8 : null;
}

const allowed = (word) => (word.length >= 8 ? 2 : word.length >= 5 ? 1 : 0);

function distance(one, other, most) {
  // Letters to add, leave out or change, or neighbors to swap; more than `most` is not told apart.
  if (Math.abs(one.length - other.length) > most) return most + 1;
  let before = null, last = Array.from({ length: other.length + 1 }, (_, place) => place);
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const change = one[i - 1] === other[j - 1] ? 0 : 1;
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + change);
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    [before, last] = [last, row];
  }
  return last[other.length];
}
