// What visitors and colleagues wrote about a proposed class, shown as plain text after one's own vote.

import { call } from "./sending.js";

const CLAIMS = { missing: "the class is missing", wrong: "the label is wrong", problematic: "the image should not be used" };
const line = ({ by, claim, reason }) => `${by}: ${CLAIMS[claim]}${reason ? `. “${reason}”` : ""}`;

export async function shownProposals(place, work, item) {
  await work.outbox.flush();
  try {
    const proposals = await call(`/api/queues/${work.queue}/items/${item.id}/proposals`);
    place.textContent = proposals.length ? `${item.class ? `You judged “${item.class.name}”. ` : ""}Proposed by ${proposals.map(line).join("; ")}` : "";
    place.hidden = !proposals.length;
  } catch {
    place.hidden = true;
  }
}
