// What visitors and colleagues wrote about a proposed class, shown as plain text after one's own vote.

import { call } from "./sending.js";

const CLAIMS = { missing: "the class is missing", wrong: "the label is wrong", problematic: "the image should not be used" };
const line = ({ by, claim, reason }) => `${by}: ${CLAIMS[claim]}${reason ? `. “${reason}”` : ""}`;

function show(text) {
  for (const place of document.querySelectorAll(".proposed")) {
    place.textContent = text;
    place.hidden = !text;
  }
}

export async function showProposals({ queue, outbox }, item) {
  await outbox.flush();
  try {
    const proposals = await call(`/api/queues/${queue}/items/${item.id}/proposals`);
    const judged = item.class ? `You judged “${item.class.name}”. ` : "";
    show(proposals.length ? `${judged}Proposed by ${proposals.map(line).join("; ")}` : "");
  } catch {
    show("");
  }
}
