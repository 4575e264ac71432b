// The work pages: one item after the other with prefetching; votes and undos are kept until the server has them.

import { Clock } from "./clock.js";
import { ItemImage } from "./image.js";
import { Outbox } from "./outbox.js";
import { askReason, askReasonIn } from "./reason.js";
import { call, clearRefusals, explain, mayPass, newKey, notice, showFailure } from "./sending.js";

const SETTLE = 200; // milliseconds in which keys are ignored, since they may be meant for the previous image
const MAX_PAUSE = 15; // seconds between two attempts, if the server does not ask for more
const by = (id) => document.getElementById(id);
const afterSeconds = (seconds) => new Promise((resolve) => { setTimeout(resolve, 1000 * seconds); });

export class WorkPage {
  // show(item) draws everything of an item except its image; finished() is called when nothing is left. The optional
  // showReply(item, vote, reply) shows the server's reply to a vote, and resolves to whether to continue.
  constructor(queue, { show, finished = () => {}, counted, showReply }) {
    Object.assign(this, { queue, show, finished, counted, showReply });
    this.page = document.querySelector(".work-page");
    this.image = new ItemImage(queue, { appeared: () => this.allow(), skip: () => this.skip(), report: (comment) => this.report(comment) });
    this.outbox = new Outbox(queue, { ask: askReasonIn(queue), dropped: (entry) => this.dropped(entry) });
    this.clock = new Clock();
    this.current = null;
    this.ahead = null;
    this.turn = 0; // incremented whenever an item is shown or answered: work of an earlier turn stops
    this.history = []; // the votes of this page, newest last, for undo
    this.reasons = new Map(); // reasons for changing revealed votes, by item
    this.voted = new Set(); // items voted on here, which the server may not know yet
    this.undone = new Set(); // keys of the undos of this page
    this.left = () => {}; // called when the shown item is answered or left, to close its dialogs
    this.settled = false;
    this.undoing = false;
    by("show-skipped").addEventListener("click", () => this.returnSkipped());
  }

  get ready() { return this.settled && !this.undoing; }

  mark(change) {
    // Updates whether an answer counts: the image was visible for a moment, and no undo is in progress.
    Object.assign(this, change);
    if (this.ready) document.body.dataset.ready = this.current.id;
    else delete document.body.dataset.ready;
  }

  advance() {
    // Begins a new turn, in which no answer counts yet.
    this.mark({ settled: false });
    this.left();
    this.turn += 1;
    return this.turn;
  }

  allow() {
    const { turn } = this;
    this.clock.restart();
    setTimeout(() => { if (turn === this.turn) this.mark({ settled: true }); }, SETTLE);
  }

  async begin() {
    await this.outbox.flush();
    await this.forward();
  }

  async forward() {
    const turn = this.advance();
    const item = await this.next(turn);
    if (turn === this.turn) await this.present(item);
  }

  async next(turn, after = null) {
    // The next item that was not voted on here; retries after errors until another turn begins.
    for (let pause = 0.5, failed = false; turn === this.turn; pause = Math.min(2 * pause, MAX_PAUSE)) {
      try {
        const { item, skipped, held } = await call(`/api/queues/${this.queue}/next${after ? `?after=${after}` : ""}`);
        if (failed) this.outbox.showSaved();
        failed = false;
        this.skipped = skipped;
        this.held = held;
        if (!item || !this.isVoted(item)) return item;
        await this.outbox.flush();
      } catch (error) {
        if (!mayPass(error)) return this.stop(error);
        failed = true;
        notice(`${explain(error)} ${this.outbox.entries.length ? "Your answers are kept in this browser and will be sent." : "Trying again."}`);
        pause = error.retryAfter ?? pause;
      }
      await afterSeconds(pause);
    }
    return null;
  }

  stop(error) {
    // Stops without marking the queue as done: the notice stays and says why.
    notice(explain(error));
    return new Promise(() => {});
  }

  async present(item) {
    const turn = this.advance();
    this.current = item;
    this.ahead = null;
    this.page.hidden = !item;
    by("done").hidden = Boolean(item || this.skipped);
    by("only-skipped").hidden = Boolean(item) || !this.skipped;
    if (!item) return this.end();
    this.show(item);
    const visible = await this.image.show(item);
    if (turn !== this.turn) return;
    if (visible) this.allow();
    this.lookAhead(item);
  }

  end() {
    by("skipped-count").textContent = this.skipped === 1 ? "one image" : `${this.skipped.toLocaleString("en")} images`;
    by("done").querySelector("h1").textContent = this.held ? "Nothing else for you now" : "All done";
    by("done").querySelector(".all-answered").hidden = Boolean(this.held);
    for (const line of document.querySelectorAll(".held-back")) {
      line.textContent = `${this.held}.`;
      line.hidden = !this.held;
    }
    this.finished();
  }

  lookAhead(item) {
    this.ahead = this.next(this.turn, item.id).then((following) => {
      for (const address of [following?.image, following?.second]) if (address) new Image().src = address;
      return following;
    });
  }

  async vote(answer) {
    if (!this.ready || !this.current) return;
    clearRefusals();
    const [turn, item] = [this.advance(), this.current];
    const vote = { item: item.id, key: newKey(), seconds: Math.round(10 * this.clock.seconds) / 10, ...answer };
    if (this.reasons.has(item.id)) vote.why = this.reasons.get(item.id);
    const cast = { item, key: vote.key, revealed: false };
    const reply = this.outbox.reply(vote.key);
    reply.then((answered) => { cast.revealed = Boolean(answered?.revealed); });
    this.history.push(cast);
    this.voted.add(item.id);
    const sent = this.outbox.add("votes", vote);
    this.counted(1);
    if (this.showReply && !(await this.awaitReply(turn, item, vote, reply))) return;
    const ahead = await this.ahead;
    if (!ahead) await sent;
    if (turn !== this.turn) return;
    await (ahead && !this.isVoted(ahead) ? this.present(ahead) : this.forward());
  }

  isVoted({ id }) { return this.voted.has(id) || this.outbox.unsentVote(id) !== undefined; }

  async awaitReply(turn, item, vote, reply) {
    // Shows the server's reply to a vote; resolves to whether the next item may follow.
    const answered = await reply;
    if (turn !== this.turn || answered === undefined) return false;
    return answered === null || this.showReply(item, vote, answered);
  }

  async undo() {
    if (this.undoing) return;
    clearRefusals();
    this.mark({ undoing: true });
    const last = this.history.at(-1) ?? (await this.older());
    const why = last?.revealed ? await askReason(last.item.image) : "";
    if (last && why !== null) this.takeBack(last, why);
    this.mark({ undoing: false });
  }

  takeBack({ item, key }, why) {
    const undo = { key: newKey(), item: item.id, ...(key && { vote: key }), ...(why && { why }) };
    this.history = this.history.filter((cast) => cast.key !== key);
    this.undone.add(undo.key);
    if (why) this.reasons.set(item.id, why);
    this.voted.delete(item.id);
    this.counted(-1);
    this.outbox.add("undo", undo);
    this.present(item);
  }

  async older() {
    // The newest vote from before this page was loaded: an unsent one, or the last one on the server.
    try {
      const unsent = this.outbox.unsentVote();
      if (unsent) return { item: await this.itemAgain(unsent.item), key: unsent.key };
      await this.outbox.flush();
      if (this.outbox.entries.length) { notice("Undo is available again once your answers are saved.", 5); return null; }
      const last = await call(`/api/queues/${this.queue}/last`);
      if (!last.item) notice("There is nothing to undo.", 3);
      return last.item ? last : null;
    } catch (error) {
      showFailure(error, { doing: "Nothing was undone." });
      return null;
    }
  }

  async itemAgain(id) { return (await call(`/api/queues/${this.queue}/items/${id}`)).item; }

  dropped({ kind, body }) {
    // An entry that will never be sent, possibly of another tab: its vote does not count, or its undo has no effect.
    if (kind === "votes") this.voted.delete(body.item);
    if (this.history.some((cast) => cast.key === body.key)) {
      this.history = this.history.filter((cast) => cast.key !== body.key);
      this.counted(-1);
    }
    if (this.undone.delete(body.key)) {
      this.reasons.delete(body.item);
      this.counted(1);
      if (this.current?.id === body.item) this.forward();
    }
  }

  skip() { return this.leave("skip", {}); }

  report(comment) { return this.leave("reports", { comment }); }

  async leave(how, more) {
    // Leaves the shown item without an answer.
    if (!this.current) return;
    const { turn } = this;
    try {
      await call(`/api/queues/${this.queue}/${how}`, { item: this.current.id, ...more });
    } catch (error) {
      showFailure(error);
      return;
    }
    if (how === "reports") notice("Reported to the owners.", 3);
    if (turn === this.turn) await this.forward();
  }

  async returnSkipped() {
    try {
      await call(`/api/queues/${this.queue}/return-skipped`, {});
    } catch (error) {
      showFailure(error);
      return;
    }
    await this.forward();
  }
}
