// The conversation as the page knows it: items by seq, merged with what is still on its way.

const CAN_CHANGE = new Set(["pending", "sending", "retry", "unknown"]);

export class Conversation {
  #items = new Map();
  #seen = new Set();
  #waits = new Map();
  #mine = new Map();
  #last = 0;
  #trouble = new Map();

  constructor(outbox) {
    this.outbox = outbox;
    this.sentAt = new Map();
    this.session = null;
    this.epoch = 0;
    this.loaded = false;
    this.typing = false;
    this.connected = false;
    this.agent = "";
  }

  get lastSeq() {
    return this.#last;
  }

  /** Where to read on from: before the oldest item that may have changed while nobody listened. */
  after() {
    let after = this.lastSeq;
    for (const item of this.#items.values()) {
      const open = item.kind === "ask" && this.waitOf(item).status === "open";
      if (open || CAN_CHANGE.has(item.state)) after = Math.min(after, item.seq - 1);
    }
    return after;
  }

  /** The server's hello. False when what is shown belongs to another history: then connect anew, from the start. */
  begin(hello) {
    const same = this.session === null || (this.session === hello.session_key && hello.last_seq >= this.lastSeq);
    if (!same) this.#forget();
    this.session = hello.session_key;
    this.epoch = hello.epoch;
    this.agent = hello.agent;
    this.loaded ||= same && hello.last_seq === 0;
    return same;
  }

  #forget() {
    this.#items.clear();
    this.#seen.clear();
    this.#waits.clear();
    this.#last = 0;
    this.loaded = false;
    this.session = null;
  }

  addAll(items, isHistory) {
    for (const item of items) this.#add(item);
    if (isHistory) this.loaded = true;
  }

  #add(item) {
    this.#items.set(item.seq, item);
    this.#last = Math.max(this.#last, item.seq);
    if (item.kind === "message.in" && item.client_msg_id) {
      this.#seen.add(item.client_msg_id);
      this.outbox.remove(item.client_msg_id);
    }
    if (item.kind === "answer" && item.wait_id) {
      if (item.client_msg_id) this.#mine.set(item.wait_id, item.answer ?? null);
      this.settle(item.wait_id, item.status ?? "answered", item.answer ?? null);
    }
    if (item.kind === "ask" && item.status && item.status !== "open") {
      this.settle(item.wait_id, item.status, item.answer ?? null);
    }
  }

  accept(id) {
    const entry = this.outbox.all().find((one) => one.client_msg_id === id);
    if (!entry) return;
    if (entry.type === "answer") {
      const answer = entry.decision === "approve" ? "approved" : "rejected";
      this.#mine.set(entry.wait_id, answer);
      this.settle(entry.wait_id, "answered", answer);
    } else {
      this.outbox.change(id, { accepted: true, after: this.lastSeq });
    }
  }

  /** The server's no to something we sent; false when it is about nothing we know. */
  refuse(error, now) {
    const entry = this.outbox.all().find((one) => one.client_msg_id === error.client_msg_id);
    if (!entry) return false;
    if (error.retryable) {
      this.outbox.change(entry.client_msg_id, { retry_at: now });
      return true;
    }
    const trouble = { code: error.code, title: error.title, detail: error.detail, hint: error.hint };
    if (entry.type === "answer") {
      this.outbox.remove(entry.client_msg_id);
      this.#trouble.set(entry.wait_id, trouble);
    } else {
      this.outbox.change(entry.client_msg_id, { trouble });
    }
    return true;
  }

  settle(waitId, status, answer) {
    const known = this.#waits.get(waitId);
    if (status === "open") return;
    this.#waits.set(waitId, { status, answer: answer ?? known?.answer ?? null });
    this.outbox.remove(...this.outbox.all().filter((e) => e.wait_id === waitId).map((e) => e.client_msg_id));
  }

  clearTrouble(waitId) {
    this.#trouble.delete(waitId);
  }

  /** How an ask stands: `{status, answer, mine, answering, trouble}`. */
  waitOf(item) {
    const settled = this.#waits.get(item.wait_id);
    const sending = this.outbox.all().find((entry) => entry.wait_id === item.wait_id);
    const answer = settled?.answer ?? item.answer ?? null;
    return {
      status: settled?.status ?? item.status ?? "open",
      answer,
      mine: answer !== null && this.#mine.get(item.wait_id) === answer,
      answering: sending?.decision ?? null,
      trouble: this.#trouble.get(item.wait_id) ?? null,
    };
  }

  /** All there is to show, in order: items by seq, accepted ones where they were accepted, unsent ones last. */
  entries() {
    const shown = [...this.#items.values()].map((item) => ({ item, order: item.seq }));
    for (const entry of this.outbox.all()) {
      if (entry.type !== "message" || this.#seen.has(entry.client_msg_id)) continue;
      shown.push({ pending: entry, order: entry.accepted ? entry.after + 0.5 : Infinity });
    }
    return shown.sort((a, b) => a.order - b.order || 0);
  }
}
