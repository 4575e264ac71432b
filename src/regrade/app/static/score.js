// How well someone does in training, in this window and until it is closed.

import { storageKey } from "./sending.js";

export class Score {
  constructor(queue) {
    this.place = storageKey("score", queue);
    this.outcomes = new Map(JSON.parse(sessionStorage.getItem(this.place) ?? "[]"));
  }

  keep(item, outcome) {
    this.outcomes.set(item, outcome);
    this.save();
  }

  forget(item) {
    if (this.outcomes.delete(item)) this.save();
  }

  save() { sessionStorage.setItem(this.place, JSON.stringify([...this.outcomes])); }

  get text() {
    const counted = [...this.outcomes.values()].filter((one) => one === "right" || one === "wrong");
    if (!counted.length) return "";
    const right = counted.filter((one) => one === "right").length;
    return `${right} of ${counted.length} right`;
  }
}
