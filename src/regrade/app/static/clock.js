// Measures how long the page was visible: the clock stops while the tab is hidden.

export class Clock {
  constructor() {
    this.restart();
    document.addEventListener("visibilitychange", () => (document.hidden ? this.pause() : this.resume()));
  }

  restart() {
    this.spent = 0;
    this.since = document.hidden ? null : performance.now();
  }

  pause() {
    if (this.since !== null) this.spent += performance.now() - this.since;
    this.since = null;
  }

  resume() { this.since ??= performance.now(); }

  get seconds() { return (this.spent + (this.since === null ? 0 : performance.now() - this.since)) / 1000; }
}
