// Asks for the reason of a vote change after the other votes were revealed.

import { call } from "./sending.js";

const by = (id) => document.getElementById(id);
let previous = Promise.resolve(); // the previous dialog: changes on two images are asked about one after the other

export function askReason(address) {
  // Resolves to the reason, or to null if the vote stays. The argument is, or resolves to, the address of the item's image.
  previous = previous.then(() => ask(address));
  return previous;
}

// The same for entries of an outbox, which have the id of their item.
export const askReasonIn = (queue) => ({ body }) => askReason(
  call(`/api/queues/${queue}/items/${body.item}`).then(({ item }) => item.image, () => null),
);

function ask(imageAddress) {
  const [dialog, image] = [by("change-reason"), by("change-reason-image")];
  image.hidden = true;
  by("change-reason-text").value = "";
  dialog.returnValue = "";
  const shown = new AbortController();
  Promise.resolve(imageAddress).then((address) => {
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
