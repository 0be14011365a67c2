// What was sent and is not acknowledged: kept in the browser's storage, so that a reload or a crash loses nothing.

const ENTRIES_MAX = 200;
const ACCEPTED_KEEP_S = 600;

export class Outbox {
  /** `storage` is a Storage; where it refuses (private mode, full) the entries live in memory only. */
  constructor(storage, name) {
    this.storage = storage;
    this.name = name;
    this.memory = [];
    const oldest = Date.now() / 1000 - ACCEPTED_KEEP_S;
    this.#write(this.all().filter((entry) => !entry.accepted || entry.at > oldest));
  }

  /** Every entry, oldest first; read from storage each time, because other tabs write there too. */
  all() {
    try {
      const stored = JSON.parse(this.storage.getItem(this.name) ?? "[]");
      return Array.isArray(stored) && this.memory.length === 0 ? stored : this.memory;
    } catch {
      return this.memory;
    }
  }

  /** Those the server has not said `accepted` to and not refused for good. */
  unsent() {
    return this.all().filter((entry) => !entry.accepted && !entry.trouble);
  }

  /** False when too many are waiting already. */
  add(entry) {
    const entries = this.all();
    if (entries.length >= ENTRIES_MAX) return false;
    this.#write([...entries, entry]);
    return true;
  }

  change(id, changes) {
    this.#write(this.all().map((entry) => (entry.client_msg_id === id ? { ...entry, ...changes } : entry)));
  }

  remove(...ids) {
    const entries = this.all();
    const rest = entries.filter((entry) => !ids.includes(entry.client_msg_id));
    if (rest.length !== entries.length) this.#write(rest);
  }

  #write(entries) {
    try {
      this.storage.setItem(this.name, JSON.stringify(entries));
      this.memory = [];
    } catch {
      this.memory = entries;
    }
  }
}
