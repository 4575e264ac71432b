// The question about an item: its class with names and definition, known labels, and reference images of the class.

import { guideAddress, guideBlock } from "./guide_block.js";
import { call, showFailure } from "./sending.js";
import { strip } from "./strip.js";

const by = (id) => document.getElementById(id);

const STATES = [["correct", "Known correct"], ["unclear", "Known unclear"], ["wrong", "Known wrong"], ["problematic", "Problematic"], ["withheld", "Known labels"]];

function showLabels(item) {
  const rows = STATES.map(([state, heading]) => [heading, [item.labels[state]].flat().filter(Boolean).join(", ")]);
  if (item.score) rows.unshift(["Score", item.score]);
  by("labels").replaceChildren(...rows.filter(([, text]) => text).flatMap((row) => row.map((text, place) => {
    const part = document.createElement(place ? "dd" : "dt");
    part.textContent = text;
    return part;
  })));
}

export function showQuestion(queue, item) {
  by("class-name").textContent = item.class.name;
  by("words").textContent = item.class.words.filter((word) => word !== item.class.name).join(", ");
  by("definition").textContent = item.class.definition;
  by("guide").href = guideAddress(item.class.space, item.class.id);
  guideBlock(by("entry"), item.class.space, item.class.id, { queue });
  showLabels(item);
  strip(by("references"), item.references);
  by("more").hidden = !item.references.length;
}

export async function moreReferences(queue, classId) {
  try {
    strip(by("references"), await call(`/api/queues/${queue}/references?class_id=${encodeURIComponent(classId)}`));
    by("more").hidden = true;
  } catch (error) {
    showFailure(error, { doing: "More images cannot be loaded." });
  }
}
