// A group of buttons, of which one is selected at a time.

export function choice(buttons, { chosen = () => {} } = {}) {
  const all = [...buttons];
  let value = "";
  const choose = (next) => {
    value = next;
    for (const button of all) button.setAttribute("aria-pressed", String(valueOf(button) === value));
    chosen(value);
  };
  for (const button of all) button.addEventListener("click", () => choose(valueOf(button)));
  return { choose, clear: () => choose(""), get value() { return value; } };
}

const valueOf = (button) => button.dataset.answer ?? button.dataset.severity;
