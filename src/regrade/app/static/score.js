// The training score, kept in this window until it is closed.

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
    const counted = [...this.outcomes.values()].filter((outcome) => outcome === "right" || outcome === "wrong");
    if (!counted.length) return "";
    const right = counted.filter((outcome) => outcome === "right").length;
    return `${right} of ${counted.length} right`;
  }
}
