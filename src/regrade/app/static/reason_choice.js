// A dialog to choose the reason for an answer, by number key or by mouse. It belongs to the item that was shown when it was
// opened: if the item changes, the dialog closes without a choice.

import { onKeys, onlyDialog } from "./keys.js";

export function reasonChoice(dialog, work, { chosen, canceled = () => {} }) {
  let turn = null; // the turn of the work page in which the dialog was opened
  work.left = () => dialog.close("");
  dialog.addEventListener("close", () => {
    if (dialog.returnValue && turn === work.turn) chosen(dialog.returnValue);
    else canceled();
  });
  const buttons = [...dialog.querySelectorAll("[value]")];
  onKeys(Object.fromEntries(buttons.map((button, place) => [String(place + 1), () => dialog.close(button.value)])),
    { when: () => onlyDialog(dialog) });
  return () => {
    if (!work.ready) return;
    ({ turn } = work);
    dialog.returnValue = "";
    dialog.showModal();
  };
}
