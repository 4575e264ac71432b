// Add a class that the image shows and nobody predicted: find it by search, give a reason, send it.

import { ClassSearch } from "./class_search.js";
import { loadClasses } from "./classes.js";
import { call, explain, newKey, notice } from "./sending.js";

const by = (id) => document.getElementById(id);
const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

// Returns the function that opens the dialog. item() is the id of the shown item, or null if the image is not visible;
// added(reply, key) is called after a class was added.
export function addClass({ queue, space, item, added = () => {} }) {
  const [dialog, field] = [by("add-class"), by("add-class-search")];
  let search = null;
  let chosen = null;
  let subject = null; // the item that was shown when the dialog was opened
  let key = "";

  function choose(picked) {
    chosen = picked;
    key = newKey();
    refuse("");
    by("add-class-chosen").hidden = !picked;
    by("add-class-send").disabled = !picked;
    by("add-class-name").textContent = picked?.name ?? "";
    by("add-class-words").textContent = picked?.words.join(", ") ?? "";
    by("add-class-definition").textContent = picked?.definition ?? "";
    if (!picked) return;
    field.value = picked.name;
    by("add-class-results").hidden = true;
    by("add-class-reason").focus();
  }

  function refuse(text, address = null) {
    const place = by("add-class-refusal");
    place.hidden = !text;
    place.replaceChildren(text);
    if (!address) return;
    const link = document.createElement("a");
    link.href = address;
    link.textContent = "Look at it";
    place.append(" ", link);
  }

  async function send(event) {
    event.preventDefault();
    if (!chosen || by("add-class-send").disabled) return;
    by("add-class-send").disabled = true;
    const reason = by("add-class-reason").value.trim();
    try {
      const reply = await call(`/api/queues/${queue}/classes`, { item: subject, class_id: chosen.id, key, reason });
      if (!reply.added) { refuse(sentence(reply.message), reply.address); return; }
      dialog.close();
      notice(`${sentence(`${chosen.name}: ${reply.message}`)} Your vote is “correct”.`, 6);
      added(reply, key);
    } catch (error) {
      refuse(explain(error));
    } finally {
      by("add-class-send").disabled = false;
    }
  }

  async function load() {
    const classes = await loadClasses(space);
    search = new ClassSearch(field, by("add-class-results"), classes, { picked: choose, changed: () => { if (chosen) choose(null); } });
    search.escaped = () => { if (field.value) { search.clear(); choose(null); } else dialog.close(); };
  }

  by("add-class-form").addEventListener("submit", send);
  by("add-class-back").addEventListener("click", () => dialog.close());

  return async () => {
    subject = item();
    if (subject === null) { notice("A class can be added once the image is visible.", 4); return; }
    for (const text of [field, by("add-class-reason")]) text.value = "";
    dialog.showModal();
    field.focus();
    choose(null);
    try {
      if (!search) await load();
      search.look(); // what was typed meanwhile
    } catch (error) {
      refuse(`The classes cannot be loaded. ${explain(error)}`);
    }
  };
}
