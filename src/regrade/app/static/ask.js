// Forms whose work is not easily undone ask once more before they are sent.

for (const form of document.querySelectorAll("form[data-ask]")) {
  form.addEventListener("submit", (event) => { if (!window.confirm(form.dataset.ask)) event.preventDefault(); });
}
