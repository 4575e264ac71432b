// Review of a class: all its images on one page. Each is kept unless it is flagged with a reason, and one request submits
// all votes, which is kept in this browser until the server has confirmed it.

import { Clock } from "./clock.js";
import { guideBlock } from "./guide_block.js";
import { noDialog, onKeys } from "./keys.js";
import { Outbox } from "./outbox.js";
import { askReason } from "./reason.js";
import { reasonChoice } from "./reason_choice.js";
import { call, clearRefusals, newKey, notice, refusal, showFailure } from "./sending.js";
import { sharpen } from "./sharp_pixels.js";
import { strip } from "./strip.js";

const HOLD = 350; // milliseconds after which a press enlarges the image
const KIND = "class-votes";
const [KEEP, FLAG] = ["keep", "problematic"];
const by = (id) => document.getElementById(id);
const page = by("review");
const { queue, class: classId } = page.dataset;
const tiles = [...page.querySelectorAll(".tile")];
const clock = new Clock();
const outbox = new Outbox(queue);
const isFixed = (tile) => tile.getAttribute("aria-disabled") === "true";
const isBroken = (tile) => tile.classList.contains("broken");
const voted = () => tiles.filter((tile) => tile.dataset.state === "open" && !isBroken(tile));
const changed = () => tiles.filter((tile) => tile.dataset.why);
let asked = null; // the tile that the dialog asks about
let busy = false; // whether the votes are on their way

// Display

const WORDS = { [KEEP]: "kept", [FLAG]: "flagged" };

function caption({ dataset }) {
  const { state, answer, reason, by: voters, decision, why } = dataset;
  const because = reason ? `: ${reason}` : "";
  if (state === "unlabeled") return "You have to label this image first.";
  if (state === "reported") return "You reported this image as unreadable.";
  if (state === "open") return answer === FLAG ? `flagged${because}` : "keep";
  if (state === "others") return answer ? `${WORDS[answer]} by ${voters}${because}` : "reviewed, or to be discussed";
  if (why) return `changed: ${WORDS[answer]}${because}`;
  return `${WORDS[answer]} by you before${because}${decision ? ` (decided: ${WORDS[decision]})` : ""}`;
}

function show(tile) {
  tile.querySelector(".mark").textContent = isBroken(tile) ? "This image cannot be shown. Click to try again." : caption(tile);
  if (["open", "own"].includes(tile.dataset.state)) tile.setAttribute("aria-pressed", String(tile.dataset.answer === FLAG));
  tile.classList.toggle("flagged", tile.dataset.answer === FLAG);
  tally();
}

function tally() {
  const open = voted();
  const flagged = open.filter((tile) => tile.dataset.answer === FLAG).length;
  const parts = open.length ? [`${open.length - flagged} kept`, `${flagged} flagged`] : [];
  if (changed().length) parts.push(`${changed().length} changed`);
  const broken = tiles.filter(isBroken).length;
  if (broken) parts.push(`${broken} cannot be shown`);
  by("tally").textContent = parts.join(", ") || "Nothing is left for you in this class.";
  by("submit").disabled = busy || !(open.length + changed().length);
}

// Flags

function set(tile, answer, reason, why = "") {
  Object.assign(tile.dataset, { answer, reason });
  if (tile.dataset.state === "own") {
    const before = tile.dataset.before === `${answer} ${reason}`;
    if (before) delete tile.dataset.why;
    else tile.dataset.why = why || reason;
  }
  show(tile);
}

const chooseReason = reasonChoice(by("reasons"), { ready: true, turn: 0 }, {
  chosen: (reason) => { set(asked, FLAG, reason); asked.focus(); },
  canceled: () => asked?.focus(),
});

function flag(tile) {
  asked = tile;
  by("another").value = "";
  chooseReason();
}

async function unflag(tile) {
  if (tile.dataset.state === "open" || tile.dataset.before?.startsWith(KEEP)) { set(tile, KEEP, ""); return; }
  const why = await askReason(tile.dataset.image);
  if (why) set(tile, KEEP, "", why);
  tile.focus();
}

function toggle(tile) {
  if (!tile || busy || isFixed(tile)) return;
  clearRefusals();
  if (isBroken(tile)) load(tile);
  else if (tile.dataset.answer === FLAG) unflag(tile);
  else flag(tile);
}

function useAnother() {
  const reason = by("another").value.trim();
  if (reason) by("reasons").close(reason);
  else by("another").focus();
}

const focused = () => tiles.find((tile) => tile === document.activeElement);

function flagWith(reason) {
  const tile = focused();
  if (tile && !busy && !isFixed(tile) && !isBroken(tile)) set(tile, FLAG, reason);
}

// Moving, enlarging, and images that cannot be shown

function move(step) {
  const place = tiles.indexOf(focused());
  const next = place < 0 ? tiles[0] : tiles[place + step];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

const columns = () => tiles.filter((tile) => tile.offsetTop === tiles[0].offsetTop).length;

function enlarge(tile) {
  if (!tile?.dataset.image || isBroken(tile)) return;
  by("enlarged").firstElementChild.src = tile.dataset.image;
  by("enlarged").hidden = false;
}

const shrink = () => { by("enlarged").hidden = true; };

function holdable(tile) {
  let timer = null;
  let held = false;
  const end = () => { clearTimeout(timer); if (held) shrink(); };
  tile.addEventListener("pointerdown", (event) => {
    held = false;
    if (event.button === 0) timer = setTimeout(() => { held = true; enlarge(tile); }, HOLD);
  });
  for (const kind of ["pointerup", "pointercancel", "pointerleave"]) tile.addEventListener(kind, end);
  tile.addEventListener("contextmenu", (event) => event.preventDefault());
  tile.addEventListener("click", () => { if (held) held = false; else toggle(tile); });
}

function load(tile) {
  const image = tile.querySelector("img");
  const attempt = Number(tile.dataset.attempt ?? 0) + 1;
  tile.dataset.attempt = attempt;
  image.removeAttribute("srcset");
  image.src = `${tile.dataset.image}?side=320&attempt=${attempt}`;
}

function follow(tile) {
  const image = tile.querySelector("img");
  const report = tile.parentElement.querySelector(".report");
  const mark = () => {
    tile.classList.toggle("broken", !(image?.naturalWidth > 0) && tile.dataset.state === "open");
    report.hidden = !isBroken(tile);
    show(tile);
  };
  if (!image) {
    if (tile.dataset.state === "open") mark();
    return;
  }
  sharpen(image);
  image.addEventListener("load", mark);
  image.addEventListener("error", mark);
  if (image.complete) mark();
}

async function report(tile) {
  try {
    await call(`/api/queues/${queue}/reports`, { item: Number(tile.dataset.item), comment: "" });
  } catch (error) {
    showFailure(error);
    return;
  }
  tile.dataset.state = "reported";
  tile.setAttribute("aria-disabled", "true");
  follow(tile);
  show(tile);
}

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) target.dataset.seen = "";
}, { threshold: 0.5 });

// Submitting

function votes() {
  const open = voted();
  const item = (tile) => Number(tile.dataset.item);
  const flagged = open.filter((tile) => tile.dataset.answer === FLAG);
  return {
    key: newKey(), class_id: classId, seconds: Math.round(10 * clock.seconds) / 10,
    kept: open.filter((tile) => tile.dataset.answer !== FLAG).map(item),
    flagged: flagged.map((tile) => ({ item: item(tile), reason: tile.dataset.reason })),
    changed: changed().map((tile) => ({ item: item(tile), answer: tile.dataset.answer, reason: tile.dataset.reason, why: tile.dataset.why })),
  };
}

function unseen() {
  const open = voted();
  return open.find((tile) => !tile.querySelector("img").complete || tile.dataset.seen === undefined);
}

function submit() {
  if (busy || by("submit").disabled) return;
  clearRefusals();
  const first = unseen();
  if (first) {
    const count = voted().filter((tile) => tile.dataset.seen === undefined).length;
    notice(count ? `Look at all images first: ${count} more below.` : "The images are not loaded yet.", 4);
    first.focus();
    first.scrollIntoView({ block: "center" });
    return;
  }
  const body = votes();
  awaitReply(body.key);
  outbox.add(KIND, body);
}

async function awaitReply(key) {
  mark(true);
  const reply = await outbox.reply(key);
  if (!reply) { mark(false); return; }
  const late = reply.decided_before.length;
  if (!late) { location.assign(reply.following); return; }
  const kept = tiles.filter((tile) => reply.decided_before.includes(Number(tile.dataset.item)) && tile.dataset.answer === FLAG);
  refusal(`${late === 1 ? "One image was" : `${late} images were`} reviewed by another person in the meantime: your votes on them are not counted.`
    + (kept.length ? ` Among them ${kept.length === 1 ? "is one" : `are ${kept.length}`} that you flagged: discuss them in the panel, or tell an owner.` : ""));
  by("next").href = reply.following;
  for (const tile of tiles) tile.setAttribute("aria-disabled", "true");
  kept.forEach((tile) => tile.classList.add("late"));
}

function mark(isBusy) {
  busy = isBusy;
  document.body.toggleAttribute("data-busy", busy);
  tally();
}

// Keys and clicks

for (const tile of tiles) {
  if (tile.dataset.state === "own") tile.dataset.before = `${tile.dataset.answer} ${tile.dataset.reason}`;
  holdable(tile);
  seen.observe(tile);
  show(tile);
  follow(tile);
  tile.parentElement.querySelector(".report").addEventListener("click", () => report(tile));
}
by("submit").addEventListener("click", submit);
by("use-another").addEventListener("click", useAnother);
by("another").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); useAnother(); } });
const reasons = [...by("reasons").querySelectorAll("button.choice")].map((button) => button.value);
onKeys({
  ...Object.fromEntries(reasons.map((reason, place) => [String(place + 1), () => flagWith(reason)])),
  ArrowRight: () => move(1), ArrowLeft: () => move(-1), ArrowDown: () => move(columns()), ArrowUp: () => move(-columns()),
  f: () => toggle(focused()), s: submit, n: () => by("next").click(), e: () => enlarge(focused()),
}, { when: (event) => noDialog() && !event.defaultPrevented }); // the key that closes a dialog does nothing more
document.addEventListener("keyup", (event) => { if (event.key.toLowerCase() === "e") shrink(); });
window.addEventListener("blur", shrink);
guideBlock(by("entry"), page.dataset.space, classId, { queue });
strip(by("references"), JSON.parse(by("references").dataset.references), "There are no reference images of this class.");
(tiles.find((tile) => tile.dataset.state === "open") ?? tiles[0])?.focus({ preventScroll: true });
const unsent = outbox.entries.find(({ kind, body }) => kind === KIND && body.class_id === classId);
if (unsent) awaitReply(unsent.body.key);
outbox.flush();
document.body.dataset.ready = classId;
