// What was decided on a page that is closed by now, and not sent yet, is sent from whatever page is open.

import { Outbox, queuesWithEntries, showUnsent } from "./outbox.js";

const own = document.querySelector("main [data-queue]")?.dataset.queue; // which that page sends itself
showUnsent();
for (const queue of queuesWithEntries()) if (queue !== own) new Outbox(queue).flush();
