// Asks why a vote changes after the reveal, when the votes of the others could be seen.

import { call } from "./sending.js";

const by = (id) => document.getElementById(id);
let previous = Promise.resolve(); // the question before: votes on two images have two reasons, one dialog after the other

export function askReason(image) {
  // Resolves to the reason, or to null where the vote stays; image is, or resolves to, the address of the image it is about.
  previous = previous.then(() => ask(image));
  return previous;
}

// For the entries of an outbox, which know the number of their item.
export const askReasonIn = (queue) => ({ body }) => askReason(
  call(`/api/queues/${queue}/items/${body.item}`).then(({ item }) => item.image, () => null),
);

function ask(image) {
  const [dialog, image] = [by("change-reason"), by("change-reason-image")];
  image.hidden = true;
  by("change-reason-text").value = "";
  dialog.returnValue = "";
  const shown = new AbortController();
  Promise.resolve(image).then((address) => {
    if (!address || shown.signal.aborted) return;
    image.src = `${address}?side=160`;
    image.hidden = false;
  });
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      shown.abort();
      resolve(dialog.returnValue ? by("change-reason-text").value.trim() : null);
    }, { once: true });
    dialog.showModal();
  });
}
