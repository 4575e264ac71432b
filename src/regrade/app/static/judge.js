// Judge: is the proposed class right for the picture?

import { moreReferences, showAsked } from "./asked.js";
import { Desk } from "./desk.js";
import { noDialog, onKeys } from "./keys.js";
import { zoomable } from "./zoom.js";

const by = (id) => document.getElementById(id);
const page = by("judge");
const reasons = by("reasons");
const lens = zoomable(page.querySelector(".canvas"), by("picture"));
let count = Number(page.dataset.done);

function show(item) {
  lens.reset();
  by("count").textContent = (count + 1).toLocaleString("en");
  showAsked(desk.queue, item);
}

const desk = new Desk(page.dataset.queue, { show, counted: (change) => { count += change; } });

function answer(value) {
  if (value !== "problematic") return desk.vote({ answer: value });
  if (!desk.ready) return undefined;
  reasons.returnValue = "";
  reasons.showModal();
  return undefined;
}

const more = () => desk.current && moreReferences(desk.queue, desk.current.class.id);

reasons.addEventListener("close", () => { if (reasons.returnValue) desk.vote({ answer: "problematic", reason: reasons.returnValue }); });
for (const button of page.querySelectorAll("[data-answer]")) button.addEventListener("click", () => answer(button.dataset.answer));
for (const id of ["undo", "undo-last"]) by(id).addEventListener("click", () => desk.undo());
by("more").addEventListener("click", more);
onKeys({
  c: () => answer("correct"), w: () => answer("wrong"), u: () => answer("unclear"), p: () => answer("problematic"),
  z: () => desk.undo(), r: () => desk.image.retry(), m: more, ...lens.keys,
}, { when: noDialog });
onKeys(Object.fromEntries([...reasons.querySelectorAll("[value]")].map((button, place) => [String(place + 1), () => reasons.close(button.value)])),
  { when: () => reasons.open });
desk.begin();
