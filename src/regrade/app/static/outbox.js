// Keeps votes and undos in this browser, in order and each with its own key, until the server has confirmed them. They
// survive a reload, a closed tab or a lost connection, and an entry that arrives twice counts once.

import { call, explain, mayPass, notice, refusal, storageKey } from "./sending.js";

const MAX_PAUSE = 15; // seconds between two attempts, if the server does not ask for more
const GRACE = 1000; // milliseconds in which another tab reports the outcome of an entry that it sent
const REASON_NEEDED = "reason needed";

const everything = () => `${storageKey("outbox")} `;

// The queues in which this person has unsent entries.
export const queuesWithEntries = () => new Set(placesOf(everything()).map((place) => place.slice(everything().length).split(" ")[0]));

const placesOf = (prefix) => Object.keys(localStorage).filter((place) => place.startsWith(prefix)).sort();

export function showUnsent() {
  // The number of this person's unsent entries, for styles and tests.
  document.body.dataset.unsent = placesOf(everything()).length;
}

export class Outbox {
  // ask(entry) resolves to the reason for changing a revealed vote, or to null if the vote stays; dropped(entry) is called
  // for entries that will never be sent.
  constructor(queue, { ask = null, dropped = () => {} } = {}) {
    Object.assign(this, { queue, ask, dropped });
    this.prefix = `${everything()}${queue} `;
    this.sending = null;
    this.awaited = new Map();
    this.asking = false;
    this.notBefore = 0;
    this.channel = new BroadcastChannel(this.prefix);
    this.channel.onmessage = ({ data }) => this.receive(data);
    window.addEventListener("online", () => this.flush());
    window.addEventListener("storage", () => { showUnsent(); if (this.failing && !this.entries.length) this.recover(); });
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.flush(); });
    showUnsent();
  }

  // Each entry has its own storage key, so that tabs do not overwrite each other's entries.
  get entries() {
    return placesOf(this.prefix).map((place) => ({ place, ...JSON.parse(localStorage.getItem(place)) })).filter((entry) => entry.body);
  }

  save({ place, ...entry }) {
    localStorage.setItem(place, JSON.stringify(entry));
    showUnsent();
  }

  remove(entry) {
    localStorage.removeItem(entry.place);
    showUnsent();
  }

  add(kind, body) {
    const newest = Number(this.entries.at(-1)?.place.slice(this.prefix.length).split(" ")[0] ?? 0);
    const number = Math.max(Date.now(), newest + 1); // keeps the order if the clock is set back
    this.save({ place: `${this.prefix}${number} ${body.key}`, kind, body, sent: false });
    return this.sending ? this.sending.then(() => this.flush()) : this.flush();
  }

  reply(key) {
    // Resolves to the server's reply to an entry; null if it was refused, undefined if it was withdrawn.
    return new Promise((resolve) => { this.awaited.set(key, resolve); });
  }

  announce(outcome) {
    // Reports the outcome of an entry to this tab and to all other tabs of the queue.
    this.receive(outcome);
    this.channel.postMessage(outcome);
  }

  receive({ key, reply, refused, dropped }) {
    this.awaited.get(key)?.(reply);
    this.awaited.delete(key);
    if (refused) refusal(refused);
    if (dropped) this.dropped(dropped);
  }

  flush() {
    if (!this.entries.length) this.recover();
    if (this.asking || performance.now() < this.notBefore || !this.entries.length) return Promise.resolve();
    clearTimeout(this.timer);
    this.sending ??= this.exclusively(() => this.send()).finally(() => { this.sending = null; this.giveUpWaiting(); });
    return this.sending;
  }

  exclusively(work) {
    // One tab sends at a time if the browser has locks (not on plain http); keys and order are correct without them too.
    return navigator.locks ? navigator.locks.request(this.prefix, work) : work();
  }

  async send() {
    for (let entry = this.entries[0]; entry; entry = this.entries[0]) {
      if (this.annul(entry)) continue;
      if (!entry.sent) this.save({ ...entry, sent: true });
      const { reply, error } = await this.deliver(entry);
      if (error && mayPass(error)) {
        this.later(error);
        return;
      }
      if (error?.code === REASON_NEEDED) {
        this.block(entry); // not awaited: other tabs need not wait for the answer
        return;
      }
      if (error) this.refuse(entry, error);
      else this.settle(entry, reply);
    }
    this.recover();
  }

  deliver({ kind, body }) {
    const sent = call(`/api/queues/${this.queue}/${kind}`, body, { keepalive: true });
    return sent.then((reply) => ({ reply }), (error) => ({ error }));
  }

  annul(entry) {
    // Drops a vote that was never sent together with its undo. Only with locks is it certain that it was never sent.
    const undo = entry.sent || !navigator.locks ? null : this.undoOf(entry);
    if (!undo) return false;
    this.settle(entry, undefined);
    this.settle(undo, undefined);
    return true;
  }

  unsentVote(item = null) {
    // The newest vote, on an item or on any, that is neither confirmed nor undone.
    const votes = this.entries.filter((entry) => entry.kind === "votes" && (item === null || entry.body.item === item));
    return votes.filter((entry) => !this.undoOf(entry)).at(-1)?.body;
  }

  undoOf(entry) { return this.entries.find(({ kind, body }) => kind === "undo" && body.vote === entry.body.key); }

  settle(entry, reply) {
    this.remove(entry);
    this.announce({ key: entry.body.key, reply });
  }

  refuse(entry, { message }) {
    this.drop(entry, entry.kind === "undo" ? `Your vote stays: ${message}.` : `Not counted: ${message}.`);
  }

  drop(entry, refused = "") {
    // Later entries that depend on this one are dropped too: the undo of a vote, and what follows an undo on its item.
    const following = entry.kind === "undo" ? this.onTopOf(entry) : [this.undoOf(entry)].filter(Boolean);
    for (const each of [entry, ...following]) {
      this.remove(each);
      this.announce({ key: each.body.key, reply: null, refused: each === entry ? refused : "", dropped: each });
    }
  }

  onTopOf(entry) { return this.entries.filter(({ place, body }) => place > entry.place && body.item === entry.body.item); }

  async block(entry) {
    // The entry and everything after it waits for a reason; if this page cannot ask, until a page that can is open.
    if (document.hidden) return;
    if (!this.ask) { notice("Your undo needs a reason: open the page of its queue."); return; }
    this.asking = true;
    const why = await this.ask(entry);
    this.asking = false;
    const waiting = this.entries.find(({ place }) => place === entry.place); // another tab may have been answered meanwhile
    if (waiting && why) [waiting, ...this.onTopOf(waiting)].forEach((each) => this.save({ ...each, body: { ...each.body, why: each.body.why || why } }));
    else if (waiting) this.drop(waiting);
    this.flush();
  }

  later(error) {
    notice(`${explain(error)} Your answers are kept in this browser and will be sent.`);
    this.failing = true;
    this.pause = error.retryAfter ?? Math.min(2 * (this.pause || 0.5), MAX_PAUSE);
    this.notBefore = error.retryAfter ? performance.now() + 1000 * error.retryAfter : 0;
    this.timer = setTimeout(() => this.flush(), 1000 * this.pause + 50); // after notBefore
  }

  recover() {
    if (this.failing) this.showSaved();
    this.failing = false;
    this.pause = 0;
  }

  showSaved() {
    if (!this.entries.length) notice("The server responds again: everything is saved.", 3);
  }

  giveUpWaiting() {
    // The tab that sent an entry reports its outcome. If that tab was closed, nothing will come.
    const unsent = new Set(this.entries.map(({ body }) => body.key));
    const gone = [...this.awaited.keys()].filter((key) => !unsent.has(key));
    if (gone.length) setTimeout(() => gone.forEach((key) => this.receive({ key, reply: null })), GRACE);
  }
}
