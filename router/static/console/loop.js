// Polls while the page is visible: every two seconds, slower while it fails, not at all while hidden.

const EVERY_MS = 2000;
const EVERY_MAX_MS = 16_000;

export class Loop {
  #timer = 0;
  #failures = 0;
  #abort = null;
  #running = false;

  /** `load(signal)` fetches and draws; `done(error | null)` hears how it went. */
  constructor({ load, done }) {
    this.load = load;
    this.done = done;
    document.addEventListener("visibilitychange", () => this.#running && this.now());
  }

  start() {
    this.#running = true;
  }

  stop() {
    this.#running = false;
    this.#cancel();
  }

  /** Loads at once and counts on from here; a load under way is given up. */
  now() {
    this.#cancel();
    if (this.#running && document.visibilityState === "visible") this.#turn();
  }

  #cancel() {
    clearTimeout(this.#timer);
    this.#abort?.abort();
    this.#abort = null;
  }

  async #turn() {
    const abort = new AbortController();
    this.#abort = abort;
    let problem = null;
    try {
      await this.load(abort.signal);
    } catch (error) {
      problem = error;
    }
    if (abort.signal.aborted) return;
    this.#failures = problem ? this.#failures + 1 : 0;
    const wait = Math.min(EVERY_MAX_MS, EVERY_MS * 2 ** Math.max(0, this.#failures - 1));
    this.#timer = setTimeout(() => this.now(), wait);
    this.done(problem);
  }
}
