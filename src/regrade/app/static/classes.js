// The classes of a class space, and a search over them that ignores case, hyphens, accents and plurals.

import { call } from "./sending.js";

const MAX_RESULTS = 60;
const MIN_SUBSTRING = 3; // characters; shorter queries are not searched inside words and definitions

const plain = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
const words = (text) => plain(text).split(/[^\p{L}\p{N}]+/u).filter(Boolean);
const squeezed = (text) => words(text).join("");

function singular(word) {
  if (word.length < 4 || /(ss|us|is)$/.test(word)) return word;
  return word.replace(/ies$/, "y").replace(/(x|ch|sh|ss)es$/, "$1").replace(/s$/, "");
}

const squeezedSingular = (text) => words(text).map(singular).join("");

export async function loadClasses(space, address = `/api/classes/${encodeURIComponent(space)}`) {
  return new Classes(await call(address, undefined, { cache: "no-cache" }));
}

class Classes {
  constructor({ space, classes, tree, groups }) {
    this.space = space;
    this.all = classes.map(([id, name, synonyms, definition], index) => ({ index, id, name, words: synonyms, definition }));
    this.tree = tree.map(([name, branches, own, count]) => ({ name, branches, classes: own, count }));
    this.families = new Map(Object.entries(groups).map(([name, members]) => [name, new Set(members)]));
    this.byId = new Map(this.all.map((each) => [each.id, each]));
    this.entries = this.all.map(entry);
  }

  get(id) { return this.byId.get(id); }

  // The classes of a family, by name.
  within(family) {
    return this.all.filter(({ index }) => family.has(index)).sort((a, b) => a.name.localeCompare(b.name, "en"));
  }

  // Classes that match a query, best first.
  search(query, { among = null } = {}) {
    const parsed = parseQuery(query);
    if (!parsed.words.length) return [];
    const matches = [];
    for (const candidate of this.entries) {
      if (among && !among.has(candidate.of.index)) continue;
      const tier = rank(candidate, parsed);
      if (tier !== null) matches.push([tier, candidate.of]);
    }
    if (!matches.length) matches.push(...this.misspelled(parsed, among));
    matches.sort(([a, first], [b, second]) => a - b || first.name.length - second.name.length || first.name.localeCompare(second.name, "en"));
    return matches.slice(0, MAX_RESULTS).map(([, match]) => match);
  }

  misspelled(query, among) {
    // Classes whose words are one or two edits away from every word of the query.
    return this.entries.filter(({ of }) => !among || among.has(of.index)).flatMap(({ names, of }) => {
      const own = names.flatMap((name) => name.words);
      const edits = query.words.map((word) => Math.min(...own.map((each) => distance(word, each, allowed(word)))));
      return edits.every((count, place) => count <= allowed(query.words[place])) ? [[edits.reduce((sum, count) => sum + count, 0), of]] : [];
    });
  }
}

function entry(of) {
  const names = [of.name, ...of.words].map((text) => ({
    words: words(text), stems: words(text).map(singular), whole: squeezed(text), stem: squeezedSingular(text),
  }));
  return { of, names, meaning: words(of.definition), id: plain(of.id) };
}

const parseQuery = (query) => ({
  words: words(query), stems: words(query).map(singular), whole: squeezed(query), stem: squeezedSingular(query), id: plain(query.trim()),
});

const everyWord = (query, test) => query.words.every((word, place) => test(word, query.stems[place]));
const hasWords = (name, query) => everyWord(query, (word, stem) => name.words.includes(word) || name.stems.includes(stem));
const hasPrefixes = (name, query) => everyWord(query, (word, stem) => name.words.some((own) => own.startsWith(word)) || name.stems.includes(stem));
const same = (name, query) => name.whole === query.whole || name.stem === query.stem;

function rank({ id, names, meaning }, query) {
  const [name, ...synonyms] = names;
  if (id === query.id || same(name, query)) return 0;
  if (synonyms.some((synonym) => same(synonym, query))) return 1;
  if (hasWords(name, query)) return 2;
  if (synonyms.some((synonym) => hasWords(synonym, query))) return 3;
  if (name.whole.startsWith(query.whole)) return 4;
  if (hasPrefixes(name, query)) return 5;
  if (synonyms.some((synonym) => hasPrefixes(synonym, query) || synonym.whole.startsWith(query.whole))) return 6;
  if (query.whole.length < MIN_SUBSTRING) return null;
  if (names.some((own) => own.whole.includes(query.whole))) return 7;
  const everything = [...meaning, ...names.flatMap((own) => own.words)];
  return everyWord(query, (word, stem) => everything.some((own) => own.startsWith(word) || own === stem)) ? 8 : null;
}

const allowed = (word) => (word.length >= 8 ? 2 : word.length >= 5 ? 1 : 0);

function distance(a, b, limit) {
  // Damerau-Levenshtein distance; distances above the limit are not exact.
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let before = null, last = Array.from({ length: b.length + 1 }, (_, place) => place);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + change);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    [before, last] = [last, row];
  }
  return last[b.length];
}
