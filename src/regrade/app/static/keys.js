// Keyboard shortcuts: ignored in text fields, with modifiers, and while a key is held down.

// A field of a closed dialog keeps the focus until the next repaint, and is not a text field any more.
const typing = (target) => target.closest("input, textarea, select, [contenteditable]") && !target.closest("dialog:not([open])");

const openDialogs = () => [...document.querySelectorAll("dialog[open]")];

export const noDialog = () => openDialogs().length === 0;

// Whether a dialog is the only open one.
export const onlyDialog = (dialog) => openDialogs().every((open) => open === dialog) && dialog.open;

export function onKeys(keys, { when = () => true } = {}) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || typing(event.target) || !when(event)) return;
    const act = keys[event.key] ?? keys[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act(event);
  });
}
