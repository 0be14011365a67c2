// The small numbers in the navigation: open approvals and dead letters.

const EVERY_S = 10;

export class Tallies {
  #last = 0;

  constructor(api, nav) {
    this.api = api;
    this.nav = nav;
  }

  /** Something was done: count again with the next load. */
  soon() {
    this.#last = 0;
  }

  /** Counts again when it is time; a count that fails is left as it was, the view itself tells. */
  async load(signal) {
    if (Date.now() / 1000 - this.#last < EVERY_S) return;
    this.#last = Date.now() / 1000;
    const counts = await Promise.allSettled([
      this.api.get("/v1/approvals", { status: "open" }, signal),
      this.api.get("/v1/dead", {}, signal),
    ]);
    const [approvals, dead] = counts.map((count) => count.value);
    if (approvals) this.#show("approvals", approvals.approvals.length, "open");
    if (dead) this.#show("dead", dead.dead.filter((letter) => letter.state === "dead").length, "not redriven");
  }

  #show(name, count, words) {
    const tally = this.nav.querySelector(`[data-tally="${name}"]`);
    tally.hidden = count === 0;
    tally.textContent = String(count);
    tally.setAttribute("aria-label", `${count} ${words}`);
  }
}
