// Mistake: category and severity. The suggestion of the triage and the likely causes are shown after the person's own answer.

import { moreReferences, showQuestion } from "./question.js";
import { choice } from "./button_choice.js";
import { WorkPage } from "./work_page.js";
import { noDialog, onKeys } from "./keys.js";
import { reasonChoice } from "./reason_choice.js";
import { offerWhy, toggleWhy, withdrawWhy } from "./why.js";
import { zoomable } from "./zoom.js";

const by = (id) => document.getElementById(id);
const page = by("mistake");
const NONE = page.dataset.none;
const lens = zoomable(page.querySelector(".canvas"), by("image"));
let count = Number(page.dataset.done);

const grades = page.querySelectorAll("[data-severity]");
const kinds = page.querySelectorAll("[data-answer]");
const kind = choice(kinds, { chosen: (value) => {
  for (const button of grades) button.disabled = !value || value === NONE;
  if (value === NONE) chooseReason();
} });

function show(item) {
  lens.reset();
  kind.clear();
  by("count").textContent = (count + 1).toLocaleString("en");
  showQuestion(work.queue, item);
  by("triage").after(by("causes"));
}

function showReply(item, vote, { suggests }) {
  const mine = vote.severity ? `${vote.answer}, ${vote.severity}` : vote.answer;
  for (const place of [by("triage"), by("triage-last")]) {
    place.textContent = `Your last answer: ${item.class.name}, ${mine}. ${suggests ? `The automatic triage suggests: ${suggests}.` : "The automatic triage has no suggestion."}`;
    place.hidden = false;
  }
  offerWhy(work.queue, item.id, `${item.class.name}, your last answer`);
  return true;
}

const work = new WorkPage(page.dataset.queue, { show, finished: () => by("triage-last").after(by("causes")), counted: (change) => { count += change; }, showReply });
const chooseReason = reasonChoice(by("reasons"), work, { chosen: (reason) => work.vote({ answer: NONE, reason }), canceled: () => kind.clear() });

const grade = (severity) => { if (kind.value && kind.value !== NONE) work.vote({ answer: kind.value, severity }); };
const pick = (place) => () => { if (work.ready) kind.choose(kinds[place].dataset.answer); };
const more = () => work.current && moreReferences(work.queue, work.current.class.id);

function undo() {
  for (const place of [by("triage"), by("triage-last")]) place.hidden = true;
  withdrawWhy();
  return work.undo();
}

for (const button of grades) button.addEventListener("click", () => grade(button.dataset.severity));
for (const id of ["undo", "undo-last"]) by(id).addEventListener("click", undo);
by("more").addEventListener("click", more);
onKeys({
  1: pick(0), 2: pick(1), 3: pick(2), 4: pick(3), n: pick(4), Escape: () => kind.clear(),
  a: () => grade("major"), i: () => grade("minor"), b: () => grade("borderline"), w: toggleWhy, z: undo, r: () => work.image.retry(), m: more, ...lens.keys,
}, { when: noDialog });
work.begin();
