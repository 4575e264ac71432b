// What someone decided is kept in this browser until the server has confirmed it: votes and undos, in their order, each
// with a key of its own. Nothing is lost by a reload, a closed tab or a lost connection, and what arrives twice counts once.

import { call, explain, mayPass, notice, refusal, storageKey } from "./sending.js";

const LONGEST_PAUSE = 15; // seconds between two attempts, unless the server asks for more
const GRACE = 1000; // milliseconds in which another tab tells what became of an entry that it has sent
const REASON_NEEDED = "reason needed";

const everything = () => `${storageKey("outbox")} `;

// The queues that this person has unsent entries of.
export const queuesWithEntries = () => new Set(placesOf(everything()).map((place) => place.slice(everything().length).split(" ")[0]));

const placesOf = (prefix) => Object.keys(localStorage).filter((place) => place.startsWith(prefix)).sort();

export function showUnsent() {
  // How much of this person is unsent; pages show it, and so do those who watch them.
  document.body.dataset.unsent = placesOf(everything()).length;
}

export class Outbox {
  // ask(entry) resolves to why a revealed vote changes, or to null where it stays; dropped(entry) is told of entries that
  // will never be sent.
  constructor(queue, { ask = null, dropped = () => {} } = {}) {
    Object.assign(this, { queue, ask, dropped });
    this.prefix = `${everything()}${queue} `;
    this.sending = null;
    this.awaited = new Map();
    this.asking = false;
    this.notBefore = 0;
    this.channel = new BroadcastChannel(this.prefix);
    this.channel.onmessage = ({ data }) => this.hear(data);
    window.addEventListener("online", () => this.flush());
    window.addEventListener("storage", () => { showUnsent(); if (this.trouble && !this.entries.length) this.recover(); });
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.flush(); });
    showUnsent();
  }

  // Each entry has a place of its own in the storage: tabs that add at the same time overwrite nothing of each other.
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
    const number = Math.max(Date.now(), newest + 1); // a clock that is set back changes no order
    this.save({ place: `${this.prefix}${number} ${body.key}`, kind, body, sent: false });
    return this.sending ? this.sending.then(() => this.flush()) : this.flush();
  }

  reply(key) {
    // What the server says of an entry once it has it; null where it refuses it, nothing where it was withdrawn.
    return new Promise((resolve) => { this.awaited.set(key, resolve); });
  }

  tell(outcome) {
    // What became of an entry, for this tab and for all others of the queue.
    this.hear(outcome);
    this.channel.postMessage(outcome);
  }

  hear({ key, reply, refused, dropped }) {
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
    // One tab sends at a time where browsers can say so (not on plain http); keys and order are right without it too.
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
        this.block(entry); // which takes as long as someone thinks: other tabs need not wait
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
    // A vote that never left this browser is undone by forgetting both. Only who sends alone can know that it never did.
    const undo = entry.sent || !navigator.locks ? null : this.undoOf(entry);
    if (!undo) return false;
    this.settle(entry, undefined);
    this.settle(undo, undefined);
    return true;
  }

  unsentVote(item = null) {
    // The newest vote that the server has not confirmed and no one has undone, on an item or on any.
    const votes = this.entries.filter((entry) => entry.kind === "votes" && (item === null || entry.body.item === item));
    return votes.filter((entry) => !this.undoOf(entry)).at(-1)?.body;
  }

  undoOf(entry) { return this.entries.find(({ kind, body }) => kind === "undo" && body.vote === entry.body.key); }

  settle(entry, reply) {
    this.remove(entry);
    this.tell({ key: entry.body.key, reply });
  }

  refuse(entry, { message }) {
    this.drop(entry, entry.kind === "undo" ? `Your vote stays: ${message}.` : `Not counted: ${message}.`);
  }

  drop(entry, refused = "") {
    // What was meant on top of an entry goes with it: the undo of a vote, and what follows an undo on its item.
    const following = entry.kind === "undo" ? this.onTopOf(entry) : [this.undoOf(entry)].filter(Boolean);
    for (const each of [entry, ...following]) {
      this.remove(each);
      this.tell({ key: each.body.key, reply: null, refused: each === entry ? refused : "", dropped: each });
    }
  }

  onTopOf(entry) { return this.entries.filter(({ place, body }) => place > entry.place && body.item === entry.body.item); }

  async block(entry) {
    // The entry waits for its reason, and everything after it; where no one can be asked, until a page that can is open.
    if (document.hidden) return;
    if (!this.ask) { notice("An undo of yours needs a reason: open the page of its queue again."); return; }
    this.asking = true;
    const why = await this.ask(entry);
    this.asking = false;
    const waiting = this.entries.find(({ place }) => place === entry.place); // unless another tab was answered meanwhile
    if (waiting && why) [waiting, ...this.onTopOf(waiting)].forEach((each) => this.save({ ...each, body: { ...each.body, why: each.body.why || why } }));
    else if (waiting) this.drop(waiting);
    this.flush();
  }

  later(error) {
    notice(`${explain(error)} Your answers are kept in this browser and will be sent.`);
    this.trouble = true;
    this.pause = error.retryAfter ?? Math.min(2 * (this.pause || 0.5), LONGEST_PAUSE);
    this.notBefore = error.retryAfter ? performance.now() + 1000 * error.retryAfter : 0;
    this.timer = setTimeout(() => this.flush(), 1000 * this.pause + 50); // surely after notBefore
  }

  recover() {
    if (this.trouble) this.tellSaved();
    this.trouble = false;
    this.pause = 0;
  }

  tellSaved() {
    if (!this.entries.length) notice("The server answers again: everything is saved.", 3);
  }

  giveUpWaiting() {
    // Another tab that has sent an entry tells what came of it. If it was closed before it could, no one will.
    const unsent = new Set(this.entries.map(({ body }) => body.key));
    const gone = [...this.awaited.keys()].filter((key) => !unsent.has(key));
    if (gone.length) setTimeout(() => gone.forEach((key) => this.hear({ key, reply: null })), GRACE);
  }
}
