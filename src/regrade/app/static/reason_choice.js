// A dialog to choose the reason for an answer, by number key or by mouse. It belongs to the item that was shown when it was
// opened: if the item changes, the dialog closes without a choice.

import { onKeys, onlyDialog } from "./keys.js";

export function reasonChoice(dialog, desk, { chosen, canceled = () => {} }) {
  let turn = null; // the desk's turn in which the dialog was opened
  desk.left = () => dialog.close("");
  dialog.addEventListener("close", () => {
    if (dialog.returnValue && turn === desk.turn) chosen(dialog.returnValue);
    else canceled();
  });
  const buttons = [...dialog.querySelectorAll("[value]")];
  onKeys(Object.fromEntries(buttons.map((button, place) => [String(place + 1), () => dialog.close(button.value)])),
    { when: () => onlyDialog(dialog) });
  return () => {
    if (!desk.ready) return;
    ({ turn } = desk);
    dialog.returnValue = "";
    dialog.showModal();
  };
}
