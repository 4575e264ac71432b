// Label: find the class by search or in the tree, compare with its images, answer.

import { ClassSearch } from "./class_search.js";
import { ClassTree } from "./class_tree.js";
import { loadClasses } from "./classes.js";
import { WorkPage } from "./work_page.js";
import { guideAddress, guideBlock } from "./guide_block.js";
import { noDialog, onKeys } from "./keys.js";
import { call, explain, notice, storageKey } from "./sending.js";
import { strip } from "./strip.js";
import { Thread } from "./thread.js";
import { zoomable } from "./zoom.js";

// The training score, kept in this window until it is closed.
class Score {
  constructor(queue) {
    this.place = storageKey("score", queue);
    this.outcomes = new Map(JSON.parse(sessionStorage.getItem(this.place) ?? "[]"));
  }

  keep(item, outcome) {
    this.outcomes.set(item, outcome);
    this.save();
  }

  forget(item) {
    if (this.outcomes.delete(item)) this.save();
  }

  save() { sessionStorage.setItem(this.place, JSON.stringify([...this.outcomes])); }

  get text() {
    const counted = [...this.outcomes.values()].filter((outcome) => outcome === "right" || outcome === "wrong");
    if (!counted.length) return "";
    const right = counted.filter((outcome) => outcome === "right").length;
    return `${right} of ${counted.length} right`;
  }
}

const by = (id) => document.getElementById(id);
const page = by("label");
const field = by("search");
const { queue, space } = page.dataset;
const training = page.dataset.mode === "training";
const lens = zoomable(page.querySelector(".canvas"), by("image"));
const score = new Score(queue);
const thread = training ? new Thread(page.querySelector(".thread"), queue) : null;
const hasMouse = matchMedia("(pointer: fine)").matches; // on touch screens, focus would open the on-screen keyboard
let count = Number(page.dataset.done);
let classes, search, tree;
let chosen = null; // the class whose images are shown
let beside = null; // the class to compare with while another is searched
let endFeedback = null; // true for the next image, false if the answer was taken back

const panes = ["find", "chosen", "feedback"];
const pane = (shown) => panes.forEach((id) => { by(id).hidden = id !== shown; });
const shown = (id) => !by(id).hidden && !page.hidden;

// A class with its definition, guide entry and up to 100 images; its button calls answered().
function side(shownClass, { answered = null, key = "Enter", head = "" } = {}) {
  const article = by("side").content.firstElementChild.cloneNode(true);
  const part = (name) => article.querySelector(`.${name}`);
  const images = part("strip"); // before the guide entry is loaded, which may contain another strip
  article.dataset.class = shownClass.id;
  part("head").textContent = head;
  part("name").textContent = shownClass.name;
  part("words").textContent = shownClass.words.join(", ");
  part("definition").textContent = shownClass.definition;
  part("open").href = guideAddress(space, shownClass.id);
  part("it").hidden = !answered;
  part("it").querySelector("kbd").textContent = key;
  part("it").addEventListener("click", () => answered?.());
  guideBlock(part("entry"), space, shownClass.id, { queue, open: true, compare: answered ? (id) => { beside = shownClass; choose(classes.get(id)); } : null });
  call(`/api/queues/${queue}/references?class_id=${encodeURIComponent(shownClass.id)}`)
    .then((addresses) => strip(images, addresses), (error) => strip(images, [], `The images cannot be loaded. ${explain(error)}`));
  return article;
}

function find({ keep = false } = {}) {
  chosen = null;
  if (!keep) search.clear();
  by("beside").hidden = !beside;
  by("beside-name").textContent = beside?.name ?? "";
  pane("find");
  if (hasMouse) field.focus({ preventScroll: true });
}

function choose(picked) {
  chosen = picked;
  const both = beside && beside !== picked ? [beside, picked] : [picked];
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

const answer = ({ id }) => work.vote({ answer: id });
const answerSide = (place) => { if (shown("chosen")) by("sides").querySelectorAll(".it")[place]?.click(); };

function show(item) {
  endFeedback?.(false);
  endFeedback = null;
  thread?.close();
  beside = null;
  lens.reset();
  score.forget(item.id);
  tally();
  by("count").textContent = (count + 1).toLocaleString("en");
  find();
}

// Training feedback: the right classes next to the answer.
const HEADS = { right: "Right", wrong: "Not this one", unclear: "Unclear: people did not agree", unknown: "Unknown: this image has no label",
  withheld: "Not shown yet: another queue still asks you to label this image" };

function showReply(item, vote, { feedback }) {
  if (!feedback) return true;
  const [answered, right] = [classes.get(vote.answer), feedback.right.map((id) => classes.get(id))];
  score.keep(item.id, feedback.outcome);
  tally();
  by("outcome").textContent = HEADS[feedback.outcome];
  by("outcome").className = `outcome ${feedback.outcome}`;
  by("right-names").textContent = right.length && !right.includes(answered) ? `It is ${right.map(({ name }) => name).join(", or ")}.` : "";
  const sides = right.map((rightClass) => side(rightClass, { head: rightClass === answered ? "Your answer, and right" : "Right" }));
  if (!right.includes(answered)) sides.push(side(answered, { head: "Your answer" }));
  by("truth").replaceChildren(...sides);
  by("truth").classList.toggle("two", sides.length > 1);
  thread.section.hidden = feedback.outcome === "withheld";
  if (!thread.section.hidden) thread.open(item.id);
  pane("feedback");
  by("next").focus({ preventScroll: true });
  return new Promise((resolve) => { endFeedback = resolve; });
}

function next() {
  endFeedback?.(true);
  endFeedback = null;
}

function tally() {
  if (training) by("score").textContent = score.text;
}

const work = new WorkPage(queue, {
  show,
  finished: () => { by("last-score").textContent = training ? score.text : ""; },
  counted: (change) => { count += change; },
  showReply: training ? showReply : undefined,
});

function hold(event) {
  // Holding Enter down must not pick a class and then answer with it.
  if (event.key === "Enter" && event.repeat) event.preventDefault();
  else if (event.key === "Enter" && !event.target.closest("button, a, summary, input, textarea, [role=treeitem]")) {
    if (shown("feedback")) next();
    else if (shown("chosen")) answerSide(by("sides").children.length - 1);
  }
}

// Restricts the search to a family of classes, for example dogs; kept for the queue until the window is closed.
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
  choice.addEventListener("change", () => { keep(); if (hasMouse) field.focus(); });
  keep();
}

async function begin() {
  try {
    classes = await loadClasses(space);
  } catch (error) {
    notice(`The classes cannot be loaded. ${explain(error)} Reload the page.`);
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
    if (undoes) work.undo();
  });
  document.addEventListener("keydown", hold);
  onKeys({
    "/": () => { if (!shown("feedback")) { if (shown("chosen")) find({ keep: true }); field.focus(); field.select(); } },
    t: () => { if (thread && shown("feedback") && !thread.section.hidden) thread.field.focus(); },
    z: () => work.undo(), r: () => work.image.retry(), c: compare, Escape: back, 1: () => answerSide(0), 2: () => answerSide(1), ...lens.keys,
  }, { when: noDialog });
  for (const id of ["undo", "undo-last"]) by(id).addEventListener("click", () => work.undo());
  for (const id of ["back", "beside-back"]) by(id).addEventListener("click", back);
  by("compare").addEventListener("click", compare);
  by("next").addEventListener("click", next);
  thread?.follow();
  work.begin();
}

begin();
