// Pairs: are these two images duplicates?

import { comparison } from "./comparison.js";
import { noDialog, onKeys } from "./keys.js";
import { WorkPage } from "./work_page.js";

const by = (id) => document.getElementById(id);
const page = by("pair");
const compared = comparison();
let count = Number(page.dataset.done);

function show(item) {
  compared.reset(item);
  by("count").textContent = (count + 1).toLocaleString("en");
}

const work = new WorkPage(page.dataset.queue, { show, counted: (change) => { count += change; } });
const answer = (value) => work.vote({ answer: value });

for (const button of page.querySelectorAll("[data-answer]")) button.addEventListener("click", () => answer(button.dataset.answer));
for (const id of ["undo", "undo-last"]) by(id).addEventListener("click", () => work.undo());
by("later").addEventListener("click", () => work.skip());
onKeys({
  d: () => answer("duplicate"), n: () => answer("different"), f: () => answer("different"), s: () => work.skip(),
  z: () => work.undo(), r: () => work.image.retry(), ...compared.keys,
}, { when: noDialog });
work.begin();
