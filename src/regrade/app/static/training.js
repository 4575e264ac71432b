// The discussed images of a training queue, each with its comments.

import { Thread } from "./thread.js";

const page = document.getElementById("training");
for (const section of page.querySelectorAll(".thread")) new Thread(section, page.dataset.queue).open(Number(section.dataset.item));
