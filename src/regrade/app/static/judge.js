// Judge: is the predicted class right for the image?

import { addClass } from "./add_class.js";
import { showProposals } from "./proposals.js";
import { moreReferences, showQuestion } from "./question.js";
import { WorkPage } from "./work_page.js";
import { noDialog, onKeys } from "./keys.js";
import { reasonChoice } from "./reason_choice.js";
import { zoomable } from "./zoom.js";

const by = (id) => document.getElementById(id);
const page = by("judge");
const lens = zoomable(page.querySelector(".canvas"), by("image"));
let count = Number(page.dataset.done);
let items = Number(by("items").textContent.replaceAll(",", ""));

function showCount() {
  by("count").textContent = (count + 1).toLocaleString("en");
  by("items").textContent = items.toLocaleString("en");
}

function show(item) {
  lens.reset();
  showCount();
  showQuestion(work.queue, item);
}

const work = new WorkPage(page.dataset.queue, { show, counted: (change) => { count += change; } });

// After a vote on a proposed class, shows what the proposers wrote.
async function vote(content) {
  const item = work.current;
  await work.vote(content);
  if (item && page.dataset.proposed !== undefined) await showProposals(work, item);
}

const chooseReason = reasonChoice(by("reasons"), work, { chosen: (reason) => vote({ answer: "problematic", reason }) });
const answer = (value) => (value === "problematic" ? chooseReason() : vote({ answer: value }));

// A class that was added to this queue is a vote of this page, which undo takes back.
function added({ item }, key) {
  if (!item || work.voted.has(item.id)) return;
  work.history.push({ item, key, revealed: false });
  work.voted.add(item.id);
  count += 1;
  items += 1;
  showCount();
}

const add = addClass({
  queue: work.queue, space: page.dataset.space, item: () => (work.ready && work.current ? work.current.id : null), added,
});

const more = () => work.current && moreReferences(work.queue, work.current.class.id);

for (const button of page.querySelectorAll("[data-answer]")) button.addEventListener("click", () => answer(button.dataset.answer));
for (const id of ["undo", "undo-last"]) by(id).addEventListener("click", () => work.undo());
by("more").addEventListener("click", more);
by("add").addEventListener("click", add);
onKeys({
  c: () => answer("correct"), w: () => answer("wrong"), u: () => answer("unclear"), p: () => answer("problematic"),
  a: add, z: () => work.undo(), r: () => work.image.retry(), m: more, ...lens.keys,
}, { when: noDialog });
work.begin();
