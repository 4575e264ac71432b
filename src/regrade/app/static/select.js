// Select: the images of a grid that show a class, one grid after the other. A selection in progress survives a reload, and
// an answer is kept in this browser until the server has it.

import { Clock } from "./clock.js";
import { Grid } from "./grid.js";
import { safeNodes } from "./guide_block.js";
import { Outbox } from "./outbox.js";
import { call, clearRefusals, explain, mayPass, newKey, notice, request, showFailure, storageKey } from "./sending.js";
import { strip } from "./strip.js";

const RENEWED = 300; // seconds between two requests that keep the task reserved for this person
const KEPT = 7 * 86400; // seconds that the selection of another task is kept
const MAX_PAUSE = 15; // seconds between two attempts
const ATTEMPTS = 2; // to show an image that the server sends
const by = (id) => document.getElementById(id);
const afterSeconds = (seconds) => new Promise((resolve) => { // or once the connection is back
  setTimeout(resolve, 1000 * seconds);
  window.addEventListener("online", resolve, { once: true });
});
const page = by("select");
const { queue } = page.dataset;
const api = (what, body) => call(`/api/queues/${queue}/${what}`, body);
const outbox = new Outbox(queue);
const clock = new Clock();
const grid = new Grid(by("grid"), by("large"), { changed });
let task = null;
let before = 0; // seconds spent on this task before the page was loaded

const spent = () => Math.round(10 * (before + clock.seconds)) / 10;
const draftKey = (item) => storageKey("grid", queue, item);

function saveDraft() {
  if (task) localStorage.setItem(draftKey(task.id), JSON.stringify({ selected: grid.selected, seconds: spent(), at: Date.now() }));
}

function draftOf(item) {
  try { return JSON.parse(localStorage.getItem(draftKey(item))) ?? {}; } catch { return {}; }
}

function dropOldDrafts() {
  const prefix = `${storageKey("grid", queue)} `;
  for (const place of Object.keys(localStorage).filter((name) => name.startsWith(prefix))) {
    if (!(Date.now() - (JSON.parse(localStorage.getItem(place))?.at ?? 0) < 1000 * KEPT)) localStorage.removeItem(place);
  }
}

function changed() {
  const count = grid.selected.length;
  by("count").textContent = `${count} of ${grid.tiles.length} selected`;
  by("clear").disabled = !count || grid.locked;
  if (!grid.locked) saveDraft();
}

function lock(locked) {
  // While locked, neither selections nor answers count: images are missing, or an answer is being sent.
  grid.locked = locked;
  for (const id of ["submit", "return"]) by(id).disabled = locked;
  by("clear").disabled = locked || !grid.selected.length;
  if (locked) delete document.body.dataset.ready;
  else document.body.dataset.ready = task.id;
}

async function load() {
  lock(true);
  for (let pause = 0.5, failed = false; ; pause = Math.min(2 * pause, MAX_PAUSE)) {
    try {
      await outbox.flush(); // the server would give an answered task again
      if (!outbox.entries.length) {
        const reply = await api("task");
        if (failed) outbox.showSaved();
        return reply.task ? show(reply.task) : location.reload();
      }
    } catch (error) {
      if (!mayPass(error)) { notice(explain(error)); return; }
      failed = true;
      notice(`${explain(error)} ${outbox.entries.length ? "Your answers are kept in this browser and will be sent." : "Trying again."}`);
      pause = error.retryAfter ?? pause;
    }
    await afterSeconds(pause);
  }
}

async function show(next) {
  task = next;
  const draft = draftOf(task.id);
  describe();
  page.hidden = false;
  by("feedback").hidden = by("continue").hidden = by("unreadable").hidden = true;
  by("ask").hidden = by("submit").hidden = by("count").hidden = by("clear").hidden = false;
  by("return").hidden = task.qualification;
  window.scrollTo(0, 0);
  await complete(grid.show(task.tiles, draft.selected ?? []));
  before = draft.seconds ?? 0;
  clock.restart();
}

async function complete(loading) {
  // Waits until all images are visible, and loads them again while there is no connection.
  by("unreadable").hidden = true;
  const shown = task;
  let missing = await loading;
  for (let pause = 0.5, broken = 0; missing.length && task === shown && broken < ATTEMPTS; pause = Math.min(2 * pause, MAX_PAUSE)) {
    try {
      const { status } = await request(missing[0], undefined, { cache: "reload" });
      if (status < 500) broken += 1; // the server responds: the image itself may be the problem
    } catch (error) {
      notice(`${explain(error)} Trying again.`);
    }
    await afterSeconds(broken ? 0 : pause);
    missing = await grid.reload();
    if (!missing.length) notice("");
  }
  if (task !== shown) return;
  by("unreadable").hidden = !missing.length;
  by("return-unreadable").hidden = task.qualification;
  if (!missing.length) lock(false);
}

function describe() {
  const { name, words, definition } = task.class;
  by("kind").hidden = !task.qualification;
  by("class-name").textContent = by("ask-name").textContent = name;
  by("words").textContent = words.filter((word) => word !== name).join(", ");
  by("definition").textContent = definition;
  by("definition").hidden = !definition;
  by("words").hidden = !by("words").textContent;
  by("wikipedia").href = task.wikipedia;
  by("example-part").hidden = !task.examples.length;
  strip(by("examples"), task.examples);
  by("guide-entry").replaceChildren(...(task.guide ? [guideBlock(task.guide)] : []));
}

function guideBlock({ html, traits, alike }) {
  const block = document.createElement("details");
  block.className = "guide-block";
  block.open = true;
  const list = Object.assign(document.createElement("ul"), { className: "traits" });
  list.append(...traits.map((trait) => Object.assign(document.createElement("li"), { textContent: trait })));
  const text = Object.assign(document.createElement("div"), { className: "prose" });
  text.append(...safeNodes(html));
  block.append(Object.assign(document.createElement("summary"), { textContent: "Guide" }), ...(traits.length ? [list] : []), text);
  if (alike.length) block.append(Object.assign(document.createElement("p"), { className: "quiet", textContent: `Looks like ${alike.join(", ")}` }));
  return block;
}

const closed = (dialog) => new Promise((resolve) => {
  dialog.returnValue = "";
  dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
  dialog.showModal();
});

async function submit() {
  if (grid.locked) return;
  clearRefusals();
  grid.cancel();
  if (!grid.selected.length && (await closed(by("none"))) !== "yes") return;
  const body = { item: task.id, key: newKey(), selected: grid.selected, seconds: spent() };
  lock(true);
  by("count").textContent = "Saving…";
  const reply = outbox.reply(body.key);
  outbox.add("selections", body);
  const stored = await reply;
  localStorage.removeItem(draftKey(body.item));
  if (stored?.message) {
    by("message-text").textContent = stored.message;
    await closed(by("message"));
  }
  if (stored?.feedback) showFeedback(stored.feedback);
  else await load();
}

function showFeedback({ wrong, right, controls, passed, tries_left: triesLeft }) {
  const shows = new Map(wrong.map((tile) => [tile.tile.split("/").at(-1), tile.shows]));
  for (const tile of grid.tiles.filter(({ dataset }) => shows.has(dataset.name))) {
    tile.classList.add("wrong");
    const what = shows.get(tile.dataset.name) ? "shows it" : "does not show it";
    tile.append(Object.assign(document.createElement("span"), { className: "truth", textContent: what }));
    tile.ariaLabel += `: wrong, ${what}`;
  }
  const outcome = passed ? "You passed: the tasks can begin." : passed === null ? "" : triesLeft ? "That is not enough to pass. You can try once more with other images." : "That is not enough to pass.";
  by("feedback").textContent = `${right} of ${controls} right. ${outcome}${wrong.length ? " The marked images were not right: press and hold to enlarge them." : ""}`;
  by("feedback").hidden = by("continue").hidden = false;
  by("ask").hidden = by("submit").hidden = by("count").hidden = by("clear").hidden = true;
  document.body.dataset.feedback = passed === null ? "next" : passed ? "passed" : "failed";
  by("continue").focus();
}

async function giveBack(unreadable) {
  if (!window.confirm("Return this task without an answer? Someone else gets it.")) return;
  try {
    const item = task.id;
    lock(true);
    await api("return", { item, unreadable });
    localStorage.removeItem(draftKey(item));
  } catch (error) {
    showFailure(error);
    lock(false);
    return;
  }
  await load();
}

by("submit").addEventListener("click", submit);
by("continue").addEventListener("click", () => { delete document.body.dataset.feedback; load(); });
by("clear").addEventListener("click", () => grid.set([...grid.tiles.keys()], false));
by("return").addEventListener("click", () => giveBack(false));
by("return-unreadable").addEventListener("click", () => giveBack(true));
by("retry").addEventListener("click", () => complete(grid.reload()));
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
});
document.addEventListener("visibilitychange", () => { if (!grid.locked) saveDraft(); });
setInterval(() => { if (task && !document.hidden) api("task").catch(() => {}); }, 1000 * RENEWED);
dropOldDrafts();
load();
