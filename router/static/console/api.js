// Requests to the server, with the token, and its problem details as errors.

const TIMEOUT_MS = 10_000;

/** What the server (or the lack of one) said: title, detail, hint, code, status. */
export class Problem extends Error {
  constructor({ title, detail = "", hint = "", code = "", status = 0 }) {
    super(title);
    Object.assign(this, { title, detail, hint, code, status });
    this.isOffline = status === 0;
  }
}

export class Api {
  constructor(token) {
    this.token = token;
  }

  /** GET; `query` values that are empty are left out. */
  get(path, query = {}, signal = undefined) {
    const used = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
    const words = new URLSearchParams(used).toString();
    return this.#fetch(words ? `${path}?${words}` : path, { signal });
  }

  post(path, body = {}) {
    return this.#fetch(path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "Content-Type": "application/json" },
    });
  }

  async #fetch(path, { signal, headers = {}, ...options }) {
    const limit = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await this.#reach(path, {
      ...options,
      headers: { ...headers, Accept: "application/json", Authorization: `Bearer ${this.token.value}` },
      signal: signal && AbortSignal.any ? AbortSignal.any([signal, limit]) : (signal ?? limit),
      credentials: "same-origin",
    });
    const body = await answer.json().catch(() => ({}));
    if (answer.ok) return body;
    throw new Problem({ title: `The server answered ${answer.status}.`, ...body, status: answer.status });
  }

  async #reach(path, options) {
    try {
      return await fetch(path, options);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem({ title: "The server cannot be reached.", hint: "What you see is what was last known; the page keeps trying." });
    }
  }
}
