// One item of a panel: vote unseen, then see what the others say, talk, change votes, lock. What others do meanwhile
// appears by itself, and never in what one is typing.

import { moreReferences } from "./asked.js";
import { choice } from "./choosing.js";
import { Clock } from "./clock.js";
import { guideBlock } from "./guide_block.js";
import { ItemImage } from "./image.js";
import { noDialog, onKeys } from "./keys.js";
import { withLinks } from "./links.js";
import { Outbox } from "./outbox.js";
import { askReasonIn } from "./reason.js";
import { call, clearRefusals, explain, mayPass, newKey, notice, storageKey, tellFailure } from "./sending.js";
import { strip } from "./strip.js";
import { zoomable } from "./zoom.js";

const EVERY = 4; // seconds between two looks at what is new
const by = (id) => document.getElementById(id);
const page = by("panel");
const { queue, item, none } = page.dataset;
const place = `/api/panel/${queue}/${item}`;
const draft = storageKey("comment", item);
const clock = new Clock();
const outbox = new Outbox(queue, { ask: askReasonIn(queue), dropped: lookAnew });
const image = new ItemImage(queue, { appeared, skip: () => by("next").click(), report });
const lens = zoomable(page.querySelector(".canvas"), by("image"));
let lost = false; // whether the last look failed
let lookAfter = 0; // when the server may be asked again, in the time of this page
let state = null;
let changing = false; // whether someone who has voted fills in another ballot

// What is shown

function made(kind, className, ...content) {
  const element = document.createElement(kind);
  if (className) element.className = className;
  element.append(...content.filter((one) => one !== null));
  return element;
}

const mark = (word) => ["correct", "wrong", "unclear", "problematic"].includes(word) ? word : "";
const both = ({ answer, severity }) => severity ? `${answer}, ${severity}` : answer;
const said = (vote) => made("strong", `said ${mark(vote.answer)}`, both(vote));
const when = (moment) => {
  const time = made("time", "quiet", new Date(moment).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }));
  time.dateTime = moment;
  return time;
};
const voteRow = (vote) => made("li", "", `${vote.person} `, said(vote), vote.reason ? made("span", "reason", " ", ...withLinks(vote.reason)) : null);

function changeRow({ person, before, after, why, at }) {
  const from = before ? `from ${before} ` : "";
  return made("li", "", `${person}: ${from}${after ? `to ${after}` : "taken back"}`, why ? made("span", "reason", ". ", ...withLinks(why)) : null, " ", when(at));
}

function pastRow({ answer, severity, reached, person, why, at }) {
  const what = reached === "reopened" ? `Opened again by ${person}` : `Decided: ${both({ answer, severity })}, ${reached}${person ? `, locked by ${person}` : ""}`;
  return made("li", "", what, why ? made("span", "reason", ". ", ...withLinks(why)) : null, " ", when(at));
}

function showComments() {
  const list = by("comments");
  const there = new Set([...list.children].map((row) => row.dataset.id));
  for (const one of state.comments) {
    if (there.has(String(one.id))) continue;
    const row = made("li", "", made("p", "head", made("strong", "", one.person), " ", when(one.at)), made("p", "text", ...withLinks(one.text)));
    row.dataset.id = one.id;
    list.append(row);
  }
}

function showVerdict() {
  const { decision } = state;
  by("verdict").hidden = !decision;
  by("verdict").replaceChildren(...(decision ? [
    made("p", "", "Verdict: ", said(decision), ` ${decision.reached}${decision.person ? `, locked by ${decision.person}` : ""}`),
    ...(decision.why ? [made("p", "quiet", ...withLinks(decision.why))] : []),
  ] : []));
}

// My vote that the server has not confirmed yet, if there is one: it is what a change would replace.
const unsent = () => outbox.unsentVote(Number(item));

function showWaiting() {
  const mine = unsent();
  const blind = !state.open && state.mine && !changing;
  by("waiting").hidden = !blind && !(mine && !changing);
  if (by("waiting").hidden) return;
  if (mine) {
    by("waiting").replaceChildren("You say ", said(mine), ". Your vote is kept in this browser until the server has it.");
    return;
  }
  const others = state.missing === 1 ? "one more vote is" : `${state.missing} more votes are`;
  by("waiting").replaceChildren("You say ", said(state.mine), `. The others' votes are shown here once all have voted: ${others} missing.`);
}

function showBallot() {
  const { decision } = state;
  const mine = state.mine ?? unsent();
  by("ballot").hidden = Boolean(decision) || !(changing || (!mine && !state.open));
  by("ballot-title").textContent = mine ? "Change my vote" : "My vote";
  by("why-part").hidden = !needsReason();
  by("why").required = needsReason();
  by("ballot-back").hidden = !changing;
  by("cast").textContent = mine ? "Change it" : "Vote";
}

const needsReason = () => Boolean(state.reason_needed || unsent());

function how({ verdict, votes }) {
  const count = votes.filter((vote) => vote.answer === verdict.answer).length;
  return { unanimously: "as all say", "by majority": `as ${count} of ${votes.length} say`, "by tie": "since there is a tie" }[verdict.reached];
}

function showVotes() {
  const { open, decision, verdict, mine } = state;
  by("votes-part").hidden = !open && !mine && !unsent();
  by("votes").replaceChildren(...state.votes.map(voteRow));
  const history = [...state.changes.map((one) => [one.at, changeRow(one)]), ...state.past.map((one) => [one.at, pastRow(one)])];
  by("changes").replaceChildren(...history.sort(([one], [other]) => one.localeCompare(other)).map(([, row]) => row));
  by("changes-part").hidden = !history.length;
  by("standing").hidden = !verdict?.answer;
  by("standing").textContent = verdict?.answer ? `If it is locked now, the verdict is “${both(verdict)}”, ${how(state)}.` : "";
  by("suggestion").hidden = !state.suggestion;
  by("suggestion").textContent = `The automatic triage says: ${state.suggestion}.`;
  by("change").hidden = Boolean(decision) || changing || (!mine && !open && !unsent());
  by("change-name").textContent = mine || unsent() ? "Change my vote" : "Add my vote";
  by("lock").hidden = !open || Boolean(decision);
  by("lock").disabled = !verdict?.answer;
  by("reopen").hidden = !decision;
  by("again").hidden = !state.again;
  by("tie").hidden = !verdict?.tie;
  by("tie").textContent = verdict?.tie ? `No verdict yet: ${verdict.tie}.` : "";
}

function show(next) {
  if (!next || next.version === state?.version) return;
  state = next;
  by("score").textContent = state.score;
  showVerdict();
  showWaiting();
  showBallot();
  showVotes();
  by("talk").hidden = !state.open;
  if (state.open) showComments();
  document.body.dataset.version = state.version;
}

// What is done

async function look() {
  if (performance.now() < lookAfter) return;
  try {
    show((await call(`${place}?version=${state?.version ?? ""}`)).state);
    if (lost) outbox.tellSaved();
    lost = false;
  } catch (error) {
    lost = mayPass(error);
    lookAfter = performance.now() + 1000 * (error.retryAfter ?? 0);
    if (!outbox.trouble) notice(`${explain(error)}${lost ? " Trying again." : ""}`);
  }
}

async function ask(what, body) {
  // Whether the server did it; if not, it says why.
  clearRefusals();
  try {
    show((await call(`${place}/${what}`, body)).state);
    return true;
  } catch (error) {
    tellFailure(error, { doing: "It is not sent." });
    if (!mayPass(error)) await look();
    return false;
  }
}

const kind = choice(page.querySelectorAll("[data-answer]"), { chosen: (value) => {
  for (const button of page.querySelectorAll("[data-severity]")) button.disabled = !value || value === none;
  if (!value || value === none) grade?.clear();
} });
const grade = choice(page.querySelectorAll("[data-severity]"));
const graded = page.querySelector("[data-severity]") !== null;

function ballot() {
  const full = { item: Number(item), key: newKey(), answer: kind.value, reason: by("reason").value.trim(), why: by("why").value.trim() };
  if (graded && kind.value !== none) full.severity = grade.value;
  return { ...full, seconds: Math.round(10 * clock.seconds) / 10 };
}

function missing() {
  if (!kind.value) return "Choose an answer first.";
  if (graded && kind.value !== none && !grade.value) return "Say how grave it is.";
  if (kind.value === "problematic" && !by("reason").value.trim()) return "Say why the image is problematic.";
  if (needsReason() && !by("why").value.trim()) return "Say why the vote changes.";
  return document.body.dataset.ready ? "" : "A vote counts only when the image can be seen.";
}

async function cast(event) {
  event.preventDefault();
  const lacks = missing();
  if (lacks) {
    if (lacks.includes("problematic")) by("reason").focus();
    else if (kind.value && lacks.includes("why")) by("why").focus();
    return notice(lacks, 4);
  }
  clearRefusals();
  by("cast").disabled = true;
  const sent = ballot();
  const reply = outbox.reply(sent.key);
  outbox.add("votes", sent);
  if (await reply) finishBallot();
  by("cast").disabled = false;
  return lookAnew();
}

function lookAnew() {
  // Draws everything again: what is unsent has changed, which the server's version does not tell.
  if (state) state = { ...state, version: "" };
  return look();
}

function finishBallot() {
  changing = false;
  kind.clear();
  grade.clear();
  for (const id of ["reason", "why"]) by(id).value = "";
  clock.restart();
}

function change(open) {
  if (!state || state.decision || (open && by("change").hidden)) return;
  changing = open;
  if (open) clock.restart();
  showWaiting();
  showBallot();
  showVotes();
  if (open) page.querySelector("#ballot button").focus();
  else { finishBallot(); by("change").focus(); }
}

function lockDialog() {
  if (by("lock").hidden) return;
  if (!state.verdict?.answer) { notice(state.verdict?.tie ?? "It cannot be locked yet.", 5); return; }
  by("lock-verdict").textContent = both(state.verdict);
  by("lock-how").textContent = how(state);
  by("lock-votes").replaceChildren(...state.votes.map(voteRow));
  by("lock-why").value = "";
  by("lock-dialog").dataset.seen = state.newest;
  by("lock-dialog").returnValue = "";
  by("lock-dialog").showModal();
}

function reopenDialog() {
  if (by("reopen").hidden) return;
  by("reopen-why").value = "";
  by("reopen-dialog").returnValue = "";
  by("reopen-dialog").showModal();
}

async function say(event) {
  event.preventDefault();
  const text = by("text").value.trim();
  if (!text) return;
  if (!(await ask("comments", { text }))) return;
  by("text").value = "";
  sessionStorage.removeItem(draft);
}

async function again() {
  try {
    location.assign((await call(`${place}/again`, {})).address);
  } catch (error) {
    tellFailure(error);
  }
}

function appeared() {
  // From now on a vote counts.
  document.body.dataset.ready = item;
  clock.restart();
}

async function report(comment) {
  try {
    await call(`/api/queues/${queue}/reports`, { item: Number(item), comment });
    notice("Reported: an owner will look at it.", 5);
  } catch (error) {
    tellFailure(error);
  }
}

// Keys and clicks

by("ballot").addEventListener("submit", cast);
by("ballot-back").addEventListener("click", () => change(false));
by("change").addEventListener("click", () => change(true));
by("lock").addEventListener("click", lockDialog);
by("reopen").addEventListener("click", reopenDialog);
by("again").addEventListener("click", again);
by("lock-dialog").addEventListener("close", () => {
  if (by("lock-dialog").returnValue) ask("lock", { seen: Number(by("lock-dialog").dataset.seen), why: by("lock-why").value.trim() });
});
by("reopen-dialog").addEventListener("close", () => { if (by("reopen-dialog").returnValue) ask("reopen", { why: by("reopen-why").value.trim() }); });
by("say").addEventListener("submit", say);
by("text").addEventListener("input", () => sessionStorage.setItem(draft, by("text").value));
by("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) by("say").requestSubmit();
  if (event.key === "Escape") by("text").blur();
});
by("ballot").addEventListener("keydown", (event) => { if (event.key === "Escape" && changing) change(false); });
const more = () => moreReferences(queue, page.dataset.class);
by("more").addEventListener("click", more);

const choosing = (picked) => () => { if (!by("ballot").hidden) picked(); };
const answers = [...page.querySelectorAll("[data-answer]")].map((button) => button.dataset.answer);
const answerKeys = graded
  ? { 1: 0, 2: 1, 3: 2, 4: 3, n: 4 }
  : { c: 0, w: 1, u: 2, p: 3 };
const gradeKeys = graded ? { a: "major", i: "minor", b: "borderline" } : {};
onKeys({
  ...Object.fromEntries(Object.entries(answerKeys).map(([key, number]) => [key, choosing(() => kind.choose(answers[number]))])),
  ...Object.fromEntries(Object.entries(gradeKeys).map(([key, value]) => [key, choosing(() => { if (kind.value && kind.value !== none) grade.choose(value); })])),
  j: () => by("next").click(), k: () => by("previous").click(), v: () => change(true), l: lockDialog, o: reopenDialog,
  t: () => { if (!by("talk").hidden) by("text").focus(); }, m: more, r: () => image.retry(), ...lens.keys,
}, { when: noDialog });

const references = JSON.parse(page.dataset.references);
strip(by("references"), references);
by("more").hidden = !references.length;
by("text").value = sessionStorage.getItem(draft) ?? "";
guideBlock(by("entry"), page.dataset.space, page.dataset.class, { queue });
kind.clear();
image.show({ id: Number(item), image: page.dataset.image || null }).then((shown) => { if (shown) appeared(); });
outbox.flush().then(look);
setInterval(() => { if (!document.hidden) look(); }, 1000 * EVERY);
document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
