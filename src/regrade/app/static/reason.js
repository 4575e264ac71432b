// Asks why a vote changes after the reveal, when the votes of the others could be seen.

const by = (id) => document.getElementById(id);
let answer = null; // a promise of what is answered, while the dialog is open

export function askReason() {
  // Resolves to the reason, or to null where the vote stays.
  answer ??= new Promise((resolve) => {
    const dialog = by("change-reason");
    by("change-reason-text").value = "";
    dialog.returnValue = "";
    dialog.addEventListener("close", () => {
      answer = null;
      resolve(dialog.returnValue ? by("change-reason-text").value.trim() : null);
    }, { once: true });
    dialog.showModal();
  });
  return answer;
}
