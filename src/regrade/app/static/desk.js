// A desk of work: one item after the other, the next one fetched ahead, every vote kept until the server has it.

import { Clock } from "./clock.js";
import { call, newKey, notice, Outbox, Refused, sentence } from "./sending.js";

const SETTLE = 200; // milliseconds in which a key pressed for the last picture does not count for this one

export class Desk {
  // show(item) draws an item and resolves when it can be seen; finished() says that nothing is left. Where there is
  // told(item, ballot, reply), it shows what the server says of an answer, and resolves to whether to go on.
  constructor(queue, { show, finished, counted, told }) {
    Object.assign(this, { queue, show, finished, counted, told });
    this.outbox = new Outbox(queue);
    this.clock = new Clock();
    this.current = null;
    this.ahead = null;
    this.last = null;
    this.voted = new Set(this.outbox.ballots.map((ballot) => ballot.item)); // what the server may not know of yet
    this.outbox.refused = (ballot) => this.voted.delete(ballot.item);
    this.ready = false;
  }

  get ready() { return this.counts; }

  set ready(counts) {
    // Whether an answer counts yet; pages show it, and so do those who watch them.
    this.counts = counts;
    if (counts) document.body.dataset.ready = this.current.id;
    else delete document.body.dataset.ready;
  }

  async begin() {
    await this.outbox.flush();
    await this.present(await this.next(null));
  }

  async next(after) {
    // The next item that was not voted on here; without a connection it is asked for again until there is one.
    for (let pause = 0.5; ; pause = Math.min(2 * pause, 15)) {
      try {
        const { item } = await call(`/api/queues/${this.queue}/next${after ? `?after=${after}` : ""}`);
        if (!item || !this.voted.has(item.id)) return item;
        await this.outbox.flush();
      } catch (error) {
        if (error instanceof Refused) return this.stop(error);
        notice(`No connection: trying again.${this.outbox.ballots.length ? " What you answered is kept in this browser." : ""}`);
      }
      await new Promise((resolve) => { setTimeout(resolve, 1000 * pause); });
    }
  }

  stop({ message }) {
    // Nothing more comes, which does not mean that all is done: the notice stays and says why.
    notice(`${sentence(message)}.`);
    return new Promise(() => {});
  }

  async present(item) {
    this.current = item;
    this.ready = false;
    if (!item) return this.finished();
    this.ahead = null;
    await this.show(item);
    this.clock.restart();
    setTimeout(() => { if (this.current === item) this.ready = true; }, SETTLE);
    this.lookAhead(item);
  }

  lookAhead(item) {
    this.ahead = this.next(item.id).then((found) => {
      if (found?.picture) new Image().src = found.picture;
      return found;
    });
  }

  async vote(ballot) {
    if (!this.ready || !this.current) return;
    this.ready = false;
    const item = this.current;
    const full = { item: item.id, key: newKey(), seconds: Math.round(10 * this.clock.seconds) / 10, ...ballot };
    this.last = { item, key: full.key };
    this.undoing = null;
    this.voted.add(item.id);
    const sent = this.outbox.add(full);
    this.counted(1);
    if (this.told && !(await this.hear(item, full))) return;
    const ahead = await this.ahead;
    if (!ahead) await sent;
    await this.present(ahead && !this.voted.has(ahead.id) ? ahead : await this.next(null));
  }

  async hear(item, ballot) {
    const reply = await this.outbox.reply(ballot);
    if (reply === undefined) return false;
    return reply === null || this.told(item, ballot, reply);
  }

  async undo() {
    if (this.last && this.outbox.drop(this.last.key)) {
      this.outbox.replied(this.last.key, undefined);
      const { item } = this.last;
      return this.again(item);
    }
    try {
      await this.outbox.flush();
      // Until the server has answered it is the same undo, however often it is asked for.
      this.undoing ??= { key: newKey(), item: this.last?.item.id };
      const { item } = await call(`/api/queues/${this.queue}/undo`, this.undoing);
      this.undoing = null;
      if (!item) return notice("There is nothing to undo.", 3);
      notice("Taken back: answer again.", 3);
      return this.again(item);
    } catch (error) {
      if (!(error instanceof Refused)) return notice("No connection: undo works again when there is one.", 5);
      this.undoing = null;
      return notice(`${sentence(error.message)}.`, 5);
    }
  }

  again(item) {
    this.last = null;
    this.voted.delete(item.id);
    this.counted(-1);
    return this.present(item);
  }
}

export function loaded(picture, address) {
  // Resolves when a picture can be seen, or cannot be had at all.
  return new Promise((resolve) => {
    picture.onload = picture.onerror = () => resolve();
    picture.src = address;
    if (picture.complete) resolve();
  });
}
