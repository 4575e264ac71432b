// Sends unsent votes of pages that were closed, from any open page.

import { Outbox, queuesWithEntries, showUnsent } from "./outbox.js";

const own = document.querySelector("main [data-queue]")?.dataset.queue; // sent by the page itself
showUnsent();
for (const queue of queuesWithEntries()) if (queue !== own) new Outbox(queue).flush();
