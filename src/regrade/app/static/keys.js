// Keys for a page of work: not while someone types or holds a modifier, and not twice while one is held down.

const typing = (target) => target.closest("input, textarea, select, [contenteditable]");

export const noDialog = () => document.querySelector("dialog[open]") === null;

export function onKeys(keys, { when = () => true } = {}) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || typing(event.target) || !when()) return;
    const act = keys[event.key] ?? keys[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act(event);
  });
}
