// Asks why a vote changes after the reveal, when the votes of the others could be seen.

const by = (id) => document.getElementById(id);
let previous = Promise.resolve(); // the question before: votes on two images have two reasons, one dialog after the other

export function askReason() {
  // Resolves to the reason, or to null where the vote stays.
  previous = previous.then(ask);
  return previous;
}

function ask() {
  return new Promise((resolve) => {
    const dialog = by("change-reason");
    by("change-reason-text").value = "";
    dialog.returnValue = "";
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue ? by("change-reason-text").value.trim() : null);
    }, { once: true });
    dialog.showModal();
  });
}
