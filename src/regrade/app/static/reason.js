// Asks why a vote changes that the others could be seen beside.

const by = (id) => document.getElementById(id);
let asked = null;

export function askReason() {
  // Resolves to the reason, or to null where the vote stays.
  asked ??= new Promise((resolve) => {
    const dialog = by("change-reason");
    by("change-reason-text").value = "";
    dialog.returnValue = "";
    dialog.addEventListener("close", () => {
      asked = null;
      resolve(dialog.returnValue ? by("change-reason-text").value.trim() : null);
    }, { once: true });
    dialog.showModal();
  });
  return asked;
}
