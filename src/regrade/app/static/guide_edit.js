// Editing a guide entry: a preview of its text, and similar classes by search.

import { ClassSearch } from "./class_search.js";
import { loadClasses } from "./classes.js";
import { safeNodes } from "./guide_block.js";
import { call, explain, notice, showFailure } from "./sending.js";

const by = (id) => document.getElementById(id);
const page = by("edit");
const lines = by("alike-lines");

by("preview").addEventListener("click", async () => {
  try {
    const { html } = await call("/api/guide/preview", { text: by("text").value });
    by("previewed").replaceChildren(...safeNodes(html));
    by("previewed").hidden = false;
  } catch (error) {
    showFailure(error, { doing: "The preview cannot be loaded." });
  }
});

const chosen = () => lines.value.split("\n").map((line) => line.trim()).filter(Boolean);

function chips(classes) {
  by("chips").replaceChildren(...chosen().map((id) => {
    const [item, button] = [document.createElement("li"), document.createElement("button")];
    button.type = "button";
    button.textContent = "×";
    const name = classes.get(id)?.name ?? id;
    button.setAttribute("aria-label", `Remove ${name}`);
    button.addEventListener("click", () => {
      lines.value = chosen().filter((other) => other !== id).join("\n");
      chips(classes);
    });
    item.append(name, button);
    return item;
  }));
}

function searchable(classes) {
  // Replaces the text field of class ids by a search and a list of chips.
  const search = new ClassSearch(by("search"), by("results"), classes, {
    picked: ({ id }) => {
      if (id !== page.dataset.class && !chosen().includes(id)) lines.value = [...chosen(), id].join("\n");
      search.clear();
      chips(classes);
    },
  });
  search.escaped = () => search.clear();
  lines.hidden = true;
  page.querySelector("label[for=alike-lines]").textContent = "Looks like";
  by("alike").hidden = false;
  chips(classes);
}

try {
  searchable(await loadClasses(page.dataset.space));
} catch (error) {
  notice(`The classes cannot be searched. ${explain(error)} Reload the page.`);
}
