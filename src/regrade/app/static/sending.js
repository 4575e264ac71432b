// Calls to the server. What someone decided is kept in this browser until the server has it: nothing is lost, and a
// ballot that arrives twice counts once, since it carries its own key.

const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";

export class Refused extends Error {}

export const newKey = () => crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export async function call(address, body) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) Object.assign(headers, { "Content-Type": "application/json", "X-Regrade-Token": meta("token") });
  const answer = await fetch(address, {
    method: body === undefined ? "GET" : "POST", headers, body: body === undefined ? undefined : JSON.stringify(body),
    credentials: "same-origin", cache: "no-store",
  });
  if (answer.status >= 500) throw new Error(`the server answered ${answer.status}`);
  const told = await answer.json();
  if (!answer.ok) throw Object.assign(new Refused(told.error ?? "refused"), { status: answer.status });
  return told;
}

export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export function notice(text, seconds = 0) {
  const place = document.getElementById("notice");
  clearTimeout(notice.timer);
  place.textContent = text;
  place.hidden = !text;
  if (seconds) notice.timer = setTimeout(() => { place.hidden = true; }, 1000 * seconds);
}

export class Outbox {
  // Ballots of one person in one queue that the server has not confirmed yet, oldest first.
  constructor(queue) {
    this.address = `/api/queues/${queue}/votes`;
    this.place = `regrade outbox ${meta("person")} ${queue}`;
    this.sending = null;
    this.awaited = new Map();
    window.addEventListener("online", () => this.flush());
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.flush(); });
  }

  get ballots() { return JSON.parse(localStorage.getItem(this.place) ?? "[]"); }

  set ballots(kept) {
    localStorage.setItem(this.place, JSON.stringify(kept));
    document.body.dataset.unsent = kept.length;
  }

  add(ballot) {
    this.ballots = [...this.ballots, ballot];
    return this.flush();
  }

  reply(ballot) {
    // What the server says of a ballot once it has it; null where it refuses it, nothing where it was dropped.
    return new Promise((resolve) => { this.awaited.set(ballot.key, { ballot, resolve }); });
  }

  replied(key, told) {
    this.awaited.get(key)?.resolve(told);
    this.awaited.delete(key);
  }

  drop(key) {
    const before = this.ballots;
    this.ballots = before.filter((ballot) => ballot.key !== key);
    return this.ballots.length < before.length;
  }

  flush() {
    this.sending ??= this.send().finally(() => { this.sending = null; });
    return this.sending;
  }

  async send() {
    clearTimeout(this.timer);
    for (let ballot = this.ballots[0]; ballot; ballot = this.ballots[0]) {
      try {
        this.replied(ballot.key, await call(this.address, ballot));
        if (this.pause) notice("Connected again: everything is saved.", 3);
        this.pause = 0;
      } catch (error) {
        if (!(error instanceof Refused) || error.status === 401 || error.status === 403) return this.later(error);
        notice(`Not counted: ${error.message}`, 8);
        this.refused?.(ballot);
        this.replied(ballot.key, null);
      }
      this.drop(ballot.key);
    }
    for (const [key, { ballot }] of this.awaited) { // sent by another tab: the same again tells what it told
      this.replied(key, await call(this.address, ballot).catch(() => null));
    }
    if (this.ballots.length) await this.send();
  }

  later(error) {
    const count = this.ballots.length;
    const why = error instanceof Refused ? sentence(error.message) : "No connection";
    notice(`${why}. ${count} ${count === 1 ? "answer is" : "answers are"} kept in this browser and will be sent.`);
    this.pause = Math.min(2 * (this.pause || 0.5), 15);
    this.timer = setTimeout(() => this.flush(), 1000 * this.pause);
  }
}
