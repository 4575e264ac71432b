// Label: which class is it? Find it by search or in the tree, look at its images, answer.

import { ClassSearch } from "./class_search.js";
import { ClassTree } from "./class_tree.js";
import { loadClasses } from "./classes.js";
import { Desk } from "./desk.js";
import { guideAddress, guideBlock } from "./guide_block.js";
import { noDialog, onKeys } from "./keys.js";
import { Score } from "./score.js";
import { call, explain, notice, storageKey } from "./sending.js";
import { strip } from "./strip.js";
import { zoomable } from "./zoom.js";

const by = (id) => document.getElementById(id);
const page = by("label");
const field = by("search");
const { queue, space } = page.dataset;
const training = page.dataset.mode === "training";
const lens = zoomable(page.querySelector(".canvas"), by("image"));
const score = new Score(queue);
const types = matchMedia("(pointer: fine)").matches; // whoever touches would get a keyboard over half the page
let count = Number(page.dataset.done);
let classes, search, tree;
let chosen = null; // the class whose images are shown
let beside = null; // a class that stays while another is looked for
let goOn = null; // ends the feedback: true for the next image, false where the answer was taken back

const panes = ["find", "chosen", "feedback"];
const pane = (shown) => panes.forEach((id) => { by(id).hidden = id !== shown; });
const shown = (id) => !by(id).hidden && !page.hidden;

// A class with its meaning, its guide entry and up to a hundred images; answered is called by its button.
function side(one, { answered = null, key = "Enter", head = "" } = {}) {
  const made = by("side").content.firstElementChild.cloneNode(true);
  const part = (name) => made.querySelector(`.${name}`);
  const images = part("strip"); // before the guide entry comes, which may bring a strip of its own
  made.dataset.class = one.id;
  part("head").textContent = head;
  part("name").textContent = one.name;
  part("words").textContent = one.words.join(", ");
  part("definition").textContent = one.definition;
  part("open").href = guideAddress(space, one.id);
  part("it").hidden = !answered;
  part("it").querySelector("kbd").textContent = key;
  part("it").addEventListener("click", () => answered?.());
  guideBlock(part("entry"), space, one.id, { queue, open: true, compare: answered ? (id) => { beside = one; choose(classes.get(id)); } : null });
  call(`/api/queues/${queue}/references?class_id=${encodeURIComponent(one.id)}`)
    .then((addresses) => strip(images, addresses), (error) => strip(images, [], `The images cannot be loaded. ${explain(error)}`));
  return made;
}

function find({ keep = false } = {}) {
  chosen = null;
  if (!keep) search.clear();
  by("beside").hidden = !beside;
  by("beside-name").textContent = beside?.name ?? "";
  pane("find");
  if (types) field.focus({ preventScroll: true });
}

function choose(one) {
  chosen = one;
  const both = beside && beside !== one ? [beside, one] : [one];
  by("sides").replaceChildren(...both.map((each, place) => side(each, {
    answered: () => answer(each), key: both.length > 1 ? String(place + 1) : "Enter",
  })));
  by("sides").classList.toggle("two", both.length > 1);
  by("compare").hidden = both.length > 1;
  pane("chosen");
  [...by("sides").querySelectorAll(".it")].at(-1).focus({ preventScroll: true });
}

function compare() {
  if (!shown("chosen") || !chosen) return;
  beside = chosen;
  find();
}

function back() {
  const last = beside;
  if (shown("chosen")) {
    beside = null;
    find({ keep: true });
  } else if (shown("find") && last) {
    beside = null;
    choose(last);
  }
}

const answer = (one) => desk.vote({ answer: one.id });
const answerSide = (place) => { if (shown("chosen")) by("sides").querySelectorAll(".it")[place]?.click(); };

function show(item) {
  goOn?.(false);
  goOn = null;
  beside = null;
  lens.reset();
  score.forget(item.id);
  tally();
  by("count").textContent = (count + 1).toLocaleString("en");
  find();
}

// Training: what is right, beside what was said.
const HEADS = { right: "Right", wrong: "Not this one", unclear: "Unclear: people could not settle it", unknown: "No one knows: this image has no label",
  withheld: "Not shown yet: another queue still asks you to label this image" };

function told(item, ballot, { told: found }) {
  if (!found) return true;
  const [said, right] = [classes.get(ballot.answer), found.right.map((id) => classes.get(id))];
  score.keep(item.id, found.outcome);
  tally();
  by("outcome").textContent = HEADS[found.outcome];
  by("outcome").className = `outcome ${found.outcome}`;
  by("right-names").textContent = right.length && !right.includes(said) ? `It is ${right.map((one) => one.name).join(", or ")}.` : "";
  const sides = [...right.map((one) => side(one, { head: one === said ? "Your answer, and right" : "Right" }))];
  if (!right.includes(said)) sides.push(side(said, { head: "Your answer" }));
  by("truth").replaceChildren(...sides);
  by("truth").classList.toggle("two", sides.length > 1);
  pane("feedback");
  by("next").focus({ preventScroll: true });
  return new Promise((resolve) => { goOn = resolve; });
}

function next() {
  goOn?.(true);
  goOn = null;
}

function tally() {
  if (training) by("score").textContent = score.text;
}

const desk = new Desk(queue, {
  show,
  finished: () => { by("last-score").textContent = training ? score.text : ""; },
  counted: (change) => { count += change; },
  told: training ? told : undefined,
});

function hold(event) {
  // Enter, held down, does not run on from picking a class to answering with it.
  if (event.key === "Enter" && event.repeat) event.preventDefault();
  else if (event.key === "Enter" && !event.target.closest("button, a, summary, input, [role=treeitem]")) {
    if (shown("feedback")) next();
    else if (shown("chosen")) answerSide(by("sides").children.length - 1);
  }
}

// Someone who learns dogs searches among dogs; the choice is kept for the queue until the window is closed.
function families() {
  const [choice, place] = [by("family"), storageKey("family", queue)];
  choice.append(...[...classes.families.keys()].map((name) => new Option(name, name)));
  by("within").hidden = !classes.families.size;
  choice.value = classes.families.has(sessionStorage.getItem(place)) ? sessionStorage.getItem(place) : "";
  const keep = () => {
    sessionStorage.setItem(place, choice.value);
    search.among = classes.families.get(choice.value) ?? null;
    search.look();
  };
  choice.addEventListener("change", () => { keep(); if (types) field.focus(); });
  keep();
}

async function begin() {
  try {
    classes = await loadClasses(space);
  } catch (error) {
    notice(`The classes cannot be loaded. ${explain(error)} Load the page again.`);
    return;
  }
  search = new ClassSearch(field, by("results"), classes, { picked: choose, changed: () => { by("tree").hidden = !by("results").hidden; } });
  families();
  tree = new ClassTree(by("tree"), classes, choose);
  search.below = () => tree.focus(by("tree").querySelector("[tabindex='0']"));
  tree.left = () => field.focus();
  search.escaped = () => { if (field.value) search.clear(); else if (beside) back(); else field.blur(); };
  field.addEventListener("keydown", (event) => {
    const undoes = event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey);
    if (field.value || !(undoes || event.key === "/")) return;
    event.preventDefault();
    if (undoes) desk.undo();
  });
  document.addEventListener("keydown", hold);
  onKeys({
    "/": () => { if (!shown("feedback")) { if (shown("chosen")) find({ keep: true }); field.focus(); field.select(); } },
    z: () => desk.undo(), r: () => desk.image.retry(), c: compare, Escape: back, 1: () => answerSide(0), 2: () => answerSide(1), ...lens.keys,
  }, { when: noDialog });
  for (const id of ["undo", "undo-last"]) by(id).addEventListener("click", () => desk.undo());
  for (const id of ["back", "beside-back"]) by(id).addEventListener("click", back);
  by("compare").addEventListener("click", compare);
  by("next").addEventListener("click", next);
  desk.begin();
}

begin();
