// The administrator's token: taken from the link's fragment, out of the address at once, kept for this tab.

const NAME = "turnline.console.token";

export class Token {
  constructor(storage, location, history) {
    this.storage = storage;
    this.location = location;
    this.history = history;
    this.value = storage.getItem(NAME) ?? "";
  }

  /** True when the address carried a token; it does no longer. */
  takeFromFragment() {
    if (!this.location.hash.startsWith("#token=")) return false;
    const given = new URLSearchParams(this.location.hash.slice(1)).get("token");
    this.history.replaceState(null, "", `${this.location.pathname}${this.location.search}#/sessions`);
    if (given) this.keep(given);
    return Boolean(given);
  }

  keep(value) {
    this.value = value;
    this.storage.setItem(NAME, value);
  }

  forget() {
    this.value = "";
    this.storage.removeItem(NAME);
  }
}
