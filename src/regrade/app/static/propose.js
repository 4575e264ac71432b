// The form of a visitor: shows the fields of the chosen claim, and finds the class by search.

import { ClassSearch } from "./class_search.js";
import { loadClasses } from "./classes.js";
import "./sharp_pixels.js";

const by = (id) => document.getElementById(id);
const page = by("propose");
const claims = [...page.querySelectorAll("[name=claim]")];
const parts = [...page.querySelectorAll("[data-for]")];

function showParts() {
  const { value } = claims.find((claim) => claim.checked);
  for (const part of parts) part.hidden = !part.dataset.for.split(" ").includes(value);
}

function pick({ id, name }) {
  by("typed").value = name;
  by("class-id").value = id;
  by("class-results").hidden = true;
}

for (const claim of claims) claim.addEventListener("change", showParts);
showParts();

// Without the search, the typed name is looked up by the server.
loadClasses("", page.dataset.classes).then((classes) => {
  const search = new ClassSearch(by("typed"), by("class-results"), classes, { picked: pick });
  search.changed = () => { by("class-id").value = ""; };
  search.escaped = () => search.clear();
  if (by("class-id").value) by("class-results").hidden = true; // chosen before the form was sent
}, () => {});
