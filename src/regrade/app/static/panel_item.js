// One item of a panel: vote blind, then see the other votes, discuss, change votes and lock a decision. Changes by other
// people appear automatically, without touching text that is being typed.

import { addClass } from "./add_class.js";
import { showProposals } from "./proposals.js";
import { moreReferences } from "./question.js";
import { choice } from "./button_choice.js";
import { Clock } from "./clock.js";
import { comparison } from "./comparison.js";
import { guideBlock } from "./guide_block.js";
import { ItemImage } from "./image.js";
import { noDialog, onKeys } from "./keys.js";
import { withLinks } from "./links.js";
import { Outbox } from "./outbox.js";
import { askReasonIn } from "./reason.js";
import { call, clearRefusals, explain, mayPass, newKey, notice, storageKey, showFailure } from "./sending.js";
import { strip } from "./strip.js";
import { offerWhy, toggleWhy, withdrawWhy } from "./why.js";
import { zoomable } from "./zoom.js";

const POLL_INTERVAL = 4; // seconds
const by = (id) => document.getElementById(id);
const page = by("panel");
const { queue, item, none, second } = page.dataset;
const isPair = second !== undefined;
const place = `/api/panel/${queue}/${item}`;
const draft = storageKey("comment", item);
const clock = new Clock();
const outbox = new Outbox(queue, { ask: askReasonIn(queue), dropped: redraw });
const image = new ItemImage(queue, { appeared, skip: () => by("next").click(), report });
const lens = isPair ? comparison() : zoomable(page.querySelector(".canvas"), by("image"));
let lost = false; // whether the last poll failed
let pollAfter = 0; // earliest time of the next poll
let state = null;
let changing = false; // whether the person changes their vote

// Display

function create(kind, className, ...content) {
  const element = document.createElement(kind);
  if (className) element.className = className;
  element.append(...content.filter((part) => part !== null));
  return element;
}

const mark = (word) => ["correct", "wrong", "unclear", "problematic", "duplicate", "different"].includes(word) ? word : "";
const both = ({ answer, severity }) => severity ? `${answer}, ${severity}` : answer;
const answerOf = (vote) => create("strong", `answer ${mark(vote.answer)}`, both(vote));
const when = (moment) => {
  const time = create("time", "quiet", new Date(moment).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }));
  time.dateTime = moment;
  return time;
};
const isExpert = (name) => state.experts.some(({ person }) => person === name);
const voteRow = (vote) => create("li", "", `${vote.person}${isExpert(vote.person) ? ", asked as an expert" : ""} `, answerOf(vote), vote.reason ? create("span", "reason", " ", ...withLinks(vote.reason)) : null);

function changeRow({ person, before, after, why, at }) {
  const from = before ? `from ${before} ` : "";
  return create("li", "", `${person}: ${from}${after ? `to ${after}` : "taken back"}`, why ? create("span", "reason", ". ", ...withLinks(why)) : null, " ", when(at));
}

function pastRow({ answer, severity, reached, person, why, at }) {
  const what = reached === "reopened" ? `Reopened by ${person}` : `Decided: ${both({ answer, severity })}, ${reached}${person ? `, locked by ${person}` : ""}`;
  return create("li", "", what, why ? create("span", "reason", ". ", ...withLinks(why)) : null, " ", when(at));
}

function showComments() {
  const list = by("comments");
  const shown = new Set([...list.children].map((row) => row.dataset.id));
  for (const { id, person, at, text } of state.comments) {
    if (shown.has(String(id))) continue;
    const row = create("li", "", create("p", "head", create("strong", "", person), " ", when(at)), create("p", "text", ...withLinks(text)));
    row.dataset.id = id;
    list.append(row);
  }
}

function showDecision() {
  const { decision } = state;
  by("decision").hidden = !decision;
  by("decision").replaceChildren(...(decision ? [
    create("p", "", "Decision: ", answerOf(decision), ` ${decision.reached}${decision.person ? `, locked by ${decision.person}` : ""}`),
    ...(decision.why ? [create("p", "quiet", ...withLinks(decision.why))] : []),
  ] : []));
}

// My vote that the server has not confirmed yet, if there is one; a change would replace it.
const unsent = () => outbox.unsentVote(Number(item));

function showWaiting() {
  const mine = unsent();
  const blind = !state.open && state.mine && !changing;
  by("waiting").hidden = !blind && !(mine && !changing);
  if (by("waiting").hidden) return;
  if (mine) {
    by("waiting").replaceChildren("You voted ", answerOf(mine), ". Your vote is kept in this browser until it can be sent.");
    return;
  }
  const missingVotes = state.missing === 1 ? "one more vote is" : `${state.missing} more votes are`;
  by("waiting").replaceChildren("You voted ", answerOf(state.mine), `. The other votes are shown once all have voted: ${missingVotes} missing.`);
}

function showVoteForm() {
  const { decision } = state;
  const mine = state.mine ?? unsent();
  by("vote-form").hidden = Boolean(decision) || !(changing || (!mine && !state.open));
  by("vote-title").textContent = mine ? "Change my vote" : "My vote";
  by("why-part").hidden = !needsReason();
  by("why").required = needsReason();
  by("vote-back").hidden = !changing;
  by("cast").textContent = mine ? "Change it" : "Vote";
}

const needsReason = () => Boolean(state.reason_needed || unsent());

function reachedText({ verdict, votes }) {
  const count = votes.filter((vote) => vote.answer === verdict.answer).length;
  return { unanimously: "unanimously", "by majority": `by ${count} of ${votes.length} votes`, "by tie": "since there is a tie" }[verdict.reached];
}

function showVotes() {
  const { open, decision, verdict, mine } = state;
  by("votes-part").hidden = !open && !mine && !unsent();
  by("votes").replaceChildren(...state.votes.map(voteRow));
  const history = [...state.changes.map((change) => [change.at, changeRow(change)]), ...state.past.map((decided) => [decided.at, pastRow(decided)])];
  by("changes").replaceChildren(...history.sort(([a], [b]) => a.localeCompare(b)).map(([, row]) => row));
  by("changes-part").hidden = !history.length;
  const waiting = state.experts.filter(({ answered }) => !answered);
  by("experts").replaceChildren(...waiting.map(({ person, by: asker, at }) => create("li", "", `${person} was asked as an expert by ${asker}, and has not voted yet. `, when(at))));
  by("experts").hidden = !waiting.length;
  if (by("ask")) by("ask").hidden = !state.open || Boolean(decision);
  by("standing").hidden = !verdict?.answer;
  by("standing").textContent = verdict?.answer ? `If locked now, the decision is “${both(verdict)}”, ${reachedText(state)}.` : "";
  by("suggestion").hidden = !state.suggestion;
  by("suggestion").textContent = `The automatic triage suggests: ${state.suggestion}.`;
  if (graded && mine) offerWhy(queue, item, "");
  else withdrawWhy();
  by("change").hidden = Boolean(decision) || changing || (!mine && !open && !unsent());
  by("change-name").textContent = mine || unsent() ? "Change my vote" : "Add my vote";
  by("lock").hidden = !open || Boolean(decision);
  by("lock").disabled = !verdict?.answer;
  by("reopen").hidden = !decision;
  by("again").hidden = !state.again;
  by("tie").hidden = !verdict?.tie;
  by("tie").textContent = verdict?.tie ? `No decision yet: ${verdict.tie}.` : "";
}

function show(next) {
  if (!next || next.version === state?.version) return;
  state = next;
  by("score").textContent = state.score;
  showDecision();
  showWaiting();
  showVoteForm();
  showVotes();
  by("discussion").hidden = !state.open;
  if (state.open) showComments();
  document.body.dataset.version = state.version;
  if (page.dataset.proposed !== undefined && (state.mine || state.open)) showProposals({ queue, outbox }, { id: item });
}

// Actions

async function poll() {
  if (performance.now() < pollAfter) return;
  try {
    show((await call(`${place}?version=${state?.version ?? ""}`)).state);
    if (lost) outbox.showSaved();
    lost = false;
  } catch (error) {
    lost = mayPass(error);
    pollAfter = performance.now() + 1000 * (error.retryAfter ?? 0);
    if (!outbox.failing) notice(`${explain(error)}${lost ? " Trying again." : ""}`);
  }
}

async function act(what, body) {
  // Resolves to whether the server accepted the action; shows why not.
  clearRefusals();
  try {
    show((await call(`${place}/${what}`, body)).state);
    return true;
  } catch (error) {
    showFailure(error, { doing: "It was not sent." });
    if (!mayPass(error)) await poll();
    return false;
  }
}

const kind = choice(page.querySelectorAll("[data-answer]"), { chosen: (value) => {
  for (const button of page.querySelectorAll("[data-severity]")) button.disabled = !value || value === none;
  if (!value || value === none) grade?.clear();
} });
const grade = choice(page.querySelectorAll("[data-severity]"));
const graded = page.querySelector("[data-severity]") !== null;
const explained = JSON.parse(page.dataset.explained);

function currentVote() {
  const full = { item: Number(item), key: newKey(), answer: kind.value, reason: by("reason").value.trim(), why: by("why").value.trim() };
  if (graded && kind.value !== none) full.severity = grade.value;
  return { ...full, seconds: Math.round(10 * clock.seconds) / 10 };
}

function missing() {
  if (!kind.value) return "Choose an answer first.";
  if (graded && kind.value !== none && !grade.value) return "Choose a severity.";
  if (explained.includes(kind.value) && !by("reason").value.trim()) return `Give the reason for “${kind.value}”.`;
  if (needsReason() && !by("why").value.trim()) return "Say why the vote changes.";
  return document.body.dataset.ready ? "" : "You can vote once the image is visible.";
}

async function cast(event) {
  event.preventDefault();
  const lacks = missing();
  if (lacks) {
    if (lacks.includes("reason")) by("reason").focus();
    else if (kind.value && lacks.includes("why")) by("why").focus();
    return notice(lacks, 4);
  }
  clearRefusals();
  by("cast").disabled = true;
  const sent = currentVote();
  const reply = outbox.reply(sent.key);
  outbox.add("votes", sent);
  if (await reply) resetVoteForm();
  by("cast").disabled = false;
  return redraw();
}

function redraw() {
  // Draws everything again after unsent votes changed, which does not change the server's version.
  if (state) state = { ...state, version: "" };
  return poll();
}

function resetVoteForm() {
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
  showVoteForm();
  showVotes();
  if (open) page.querySelector("#vote-form button").focus();
  else { resetVoteForm(); by("change").focus(); }
}

function lockDialog() {
  if (by("lock").hidden) return;
  if (!state.verdict?.answer) { notice(state.verdict?.tie ?? "It cannot be locked yet.", 5); return; }
  by("lock-decision").textContent = both(state.verdict);
  by("lock-how").textContent = reachedText(state);
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

function askDialog() {
  if (!by("ask") || by("ask").hidden) return;
  by("ask-dialog").returnValue = "";
  by("ask-dialog").showModal();
}

async function ask() {
  const note = by("ask-note").value.trim();
  if (await act("ask", { expert: Number(by("ask-expert").value), note })) by("ask-note").value = "";
}

async function sendComment(event) {
  event.preventDefault();
  const text = by("text").value.trim();
  if (!text) return;
  if (!(await act("comments", { text }))) return;
  by("text").value = "";
  sessionStorage.removeItem(draft);
}

async function again() {
  try {
    location.assign((await call(`${place}/again`, {})).address);
  } catch (error) {
    showFailure(error);
  }
}

function appeared() {
  // Votes count from now on.
  document.body.dataset.ready = item;
  clock.restart();
}

async function report(comment) {
  try {
    await call(`/api/queues/${queue}/reports`, { item: Number(item), comment });
    notice("Reported to the owners.", 5);
  } catch (error) {
    showFailure(error);
  }
}

// Keys and clicks

by("vote-form").addEventListener("submit", cast);
by("vote-back").addEventListener("click", () => change(false));
by("change").addEventListener("click", () => change(true));
by("lock").addEventListener("click", lockDialog);
by("reopen").addEventListener("click", reopenDialog);
by("again").addEventListener("click", again);
by("ask")?.addEventListener("click", askDialog);
by("ask-dialog")?.addEventListener("close", () => { if (by("ask-dialog").returnValue) ask(); });
by("lock-dialog").addEventListener("close", () => {
  if (by("lock-dialog").returnValue) act("lock", { seen: Number(by("lock-dialog").dataset.seen), why: by("lock-why").value.trim() });
});
by("reopen-dialog").addEventListener("close", () => { if (by("reopen-dialog").returnValue) act("reopen", { why: by("reopen-why").value.trim() }); });
by("comment-form").addEventListener("submit", sendComment);
by("text").addEventListener("input", () => sessionStorage.setItem(draft, by("text").value));
by("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) by("comment-form").requestSubmit();
  if (event.key === "Escape") by("text").blur();
});
by("vote-form").addEventListener("keydown", (event) => { if (event.key === "Escape" && changing) change(false); });
const more = () => moreReferences(queue, page.dataset.class);
by("more")?.addEventListener("click", more);
const ready = () => (document.body.dataset.ready ? Number(item) : null);
const add = by("add") ? addClass({ queue, space: page.dataset.space, item: ready }) : () => {};
by("add")?.addEventListener("click", add);

const whileVoting = (action) => () => { if (!by("vote-form").hidden) action(); };
const answers = [...page.querySelectorAll("[data-answer]")].map((button) => button.dataset.answer);
const answerKeys = graded
  ? { 1: 0, 2: 1, 3: 2, 4: 3, n: 4 }
  : isPair ? { d: 0, n: 1, f: 1 }
    : answers.includes("correct") ? { c: 0, w: 1, u: 2, p: 3 } : Object.fromEntries(answers.map((_, number) => [number + 1, number]));
const addKeys = by("add") ? { a: add } : {};
const gradeKeys = graded ? { a: "major", i: "minor", b: "borderline" } : {};
onKeys({
  ...Object.fromEntries(Object.entries(answerKeys).map(([key, number]) => [key, whileVoting(() => kind.choose(answers[number]))])),
  ...Object.fromEntries(Object.entries(gradeKeys).map(([key, value]) => [key, whileVoting(() => { if (kind.value && kind.value !== none) grade.choose(value); })])),
  ...addKeys, j: () => by("next").click(), k: () => by("previous").click(), v: () => change(true), l: lockDialog, o: reopenDialog, e: askDialog,
  ...(graded && { w: toggleWhy }), t: () => { if (!by("discussion").hidden) by("text").focus(); }, m: more, r: () => image.retry(), ...lens.keys,
}, { when: noDialog });

if (isPair) lens.reset({ mirrored: page.dataset.mirrored !== undefined });
else {
  const references = JSON.parse(page.dataset.references);
  strip(by("references"), references);
  by("more").hidden = !references.length;
  guideBlock(by("entry"), page.dataset.space, page.dataset.class, { queue });
}
by("text").value = sessionStorage.getItem(draft) ?? "";
kind.clear();
image.show({ id: Number(item), image: page.dataset.image || null, second: second || null }).then((shown) => { if (shown) appeared(); });
outbox.flush().then(poll);
setInterval(() => { if (!document.hidden) poll(); }, 1000 * POLL_INTERVAL);
document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
