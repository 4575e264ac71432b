// Keys for a page of work: not while someone types or holds a modifier, and not twice while one is held down.

// A field of a dialog that was just closed has the focus until the page is drawn again: no one types there any more.
const typing = (target) => target.closest("input, textarea, select, [contenteditable]") && !target.closest("dialog:not([open])");

const openDialogs = () => [...document.querySelectorAll("dialog[open]")];

export const noDialog = () => openDialogs().length === 0;

// Whether a dialog is open, and no other one over it.
export const onlyDialog = (dialog) => openDialogs().every((open) => open === dialog) && dialog.open;

export function onKeys(keys, { when = () => true } = {}) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || typing(event.target) || !when()) return;
    const act = keys[event.key] ?? keys[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act(event);
  });
}
