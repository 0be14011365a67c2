// A WebSocket that comes back: backoff with jitter, a heartbeat, and a state that can be shown.

const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 15_000;
const PING_EVERY_MS = 20_000;
const SILENCE_MAX_MS = 45_000;
const CONNECT_MAX_MS = 10_000;

export class ChatSocket {
  #socket = null;
  #failures = 0;
  #timers = { retry: 0, beat: 0, connect: 0 };
  #heard = 0;

  /** `address()` gives the URL of the next attempt; `state({name, retryInMs, reason, failures})` hears changes, where
   * name is connecting, open or waiting; `frame(object)` hears what the server says. Open means: the server said hello. */
  constructor({ address, state, frame, random = Math.random }) {
    this.address = address;
    this.state = state;
    this.frame = frame;
    this.random = random;
    this.isOpen = false;
  }

  start() {
    clearTimeout(this.#timers.retry);
    this.state({ name: "connecting", failures: this.#failures });
    const socket = new WebSocket(this.address());
    this.#socket = socket;
    this.#timers.connect = setTimeout(() => this.#drop("The server does not answer."), CONNECT_MAX_MS);
    socket.addEventListener("message", (event) => socket === this.#socket && this.#receive(event.data));
    socket.addEventListener("close", (event) => socket === this.#socket && this.#closed(event.reason));
  }

  /** True when the frame was handed to an open socket; that it arrived is known by its `accepted` alone. */
  send(frame) {
    if (!this.isOpen || this.#socket.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  /** Leaves this connection for a new one at once. */
  reconnect() {
    this.#release();
    this.start();
  }

  /** The page woke up or the network changed: find out at once. */
  nudge() {
    if (this.isOpen) this.send({ type: "ping" });
    else if (this.#socket?.readyState !== WebSocket.CONNECTING) this.reconnect();
  }

  #receive(data) {
    this.#heard = Date.now();
    let frame;
    try {
      frame = JSON.parse(data);
    } catch {
      return;
    }
    if (frame.type === "hello") this.#opened();
    this.frame(frame);
  }

  #opened() {
    clearTimeout(this.#timers.connect);
    clearInterval(this.#timers.beat);
    this.#failures = 0;
    this.isOpen = true;
    this.#timers.beat = setInterval(() => this.#beat(), PING_EVERY_MS);
    this.state({ name: "open", failures: 0 });
  }

  #beat() {
    if (Date.now() - this.#heard > SILENCE_MAX_MS) this.#drop("The connection went silent.");
    else this.send({ type: "ping" });
  }

  #drop(reason) {
    this.#release();
    this.#closed(reason);
  }

  #release() {
    const socket = this.#socket;
    this.#socket = null;
    this.isOpen = false;
    clearTimeout(this.#timers.connect);
    clearInterval(this.#timers.beat);
    socket?.close();
  }

  #closed(reason) {
    this.#release();
    const ceiling = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** this.#failures);
    const wait = ceiling * (0.5 + this.random() / 2);
    this.#failures += 1;
    clearTimeout(this.#timers.retry);
    this.#timers.retry = setTimeout(() => this.start(), wait);
    this.state({ name: "waiting", retryInMs: wait, reason, failures: this.#failures });
  }
}
