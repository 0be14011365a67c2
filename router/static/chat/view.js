// Draws the conversation: rows by key, days between them, and the states around them.

import { KeyedList } from "../keyed.js";
import { dayKey, dayName, nowSeconds } from "../time.js";
import { badge, h } from "../dom.js";
import { dayRow, itemRow, pendingRow, standing, updateMine } from "./item.js";

const ROWS_FIRST = 200;
const ROWS_MORE = 400;
const GROUP_S = 300;
const WAITING = "The server does not answer yet. What you write is kept in this browser and sent once it does.";

export class View {
  #rows = ROWS_FIRST;
  #live = false;

  /** `actions`: answer(waitId, decision), retry(entry), discard(entry). */
  constructor(page, actions) {
    this.actions = actions;
    this.place = (id) => page.getElementById(id);
    this.list = new KeyedList(this.place("log"));
    this.place("earlier").addEventListener("click", () => this.#more());
  }

  show(conversation) {
    this.conversation = conversation;
    const all = conversation.entries();
    const shown = all.slice(-this.#rows);
    this.place("earlier").hidden = shown.length === all.length;
    this.place("loading").hidden = conversation.loaded;
    this.place("empty").hidden = !conversation.loaded || all.length > 0;
    this.list.show(this.#withDays(shown));
    this.#typing(conversation);
    if (conversation.loaded && !this.#live) this.#goLive();
  }

  agent(name) {
    const words = name ? `Talking to ${name}` : "";
    this.place("agent").textContent = name;
    this.place("agent").title = words;
    this.place("agent").hidden = !name;
    this.place("empty-title").textContent = name ? `Say hello to ${name}` : "Start the conversation";
    this.place("text").placeholder = name ? `Message ${name}` : "Write a message";
    document.title = name ? `${name} · Turnline` : "Chat · Turnline";
  }

  /** Shows the connection's state, in a word and a shape. */
  link({ name, failures = 0 }) {
    const shown = this.place("link");
    const [tone, words] = linkWords(name, failures);
    if (failures > 0) this.place("loading-words").textContent = WAITING;
    if (shown.textContent === words) return;
    shown.replaceChildren(badge(tone, words));
    document.body.dataset.link = name;
  }

  // Only what comes after the first history is read out.
  #goLive() {
    this.#live = true;
    setTimeout(() => this.place("log").setAttribute("aria-live", "polite"), 500);
  }

  #more() {
    const room = this.place("room");
    const fromEnd = room.scrollHeight - room.scrollTop;
    this.#rows += ROWS_MORE;
    this.show(this.conversation);
    room.scrollTop = room.scrollHeight - fromEnd;
  }

  #typing({ typing, agent, loaded }) {
    const line = this.place("typing");
    if (line.classList.contains("on") === (typing && loaded)) return;
    line.classList.toggle("on", typing && loaded);
    line.replaceChildren(...(typing && loaded ? [h("span", { class: "pulse" }), `${agent || "Agent"} is working`] : []));
  }

  #withDays(shown) {
    const rows = [];
    let day = "";
    shown.forEach((entry, index) => {
      const at = (entry.item ?? entry.pending).at ?? nowSeconds();
      if (dayKey(at) !== day) {
        day = dayKey(at);
        const name = dayName(at);
        rows.push({ key: `day ${day}`, stamp: name, make: () => dayRow(name) });
      }
      const first = !together(shown[index - 1], entry);
      const last = !together(entry, shown[index + 1]);
      rows.push(this.#entry(entry, { first, last }));
    });
    return rows;
  }

  #entry({ item, pending }, edges) {
    const context = { ...edges, agent: this.conversation.agent, actions: this.actions };
    if (pending) return pendingEntry(pending, { ...context, standing: standing(pending, this.conversation.connected) });
    if (item.kind === "ask") context.wait = this.conversation.waitOf(item);
    const own = item.kind === "message.in";
    const stamp = own ? `mine ${edges.first}${edges.last}sent` : JSON.stringify([item, context]);
    return {
      key: own && item.client_msg_id ? `c ${item.client_msg_id}` : `s ${item.seq}`,
      stamp,
      make: () => itemRow(item, context),
      update: own ? (node) => adapt(node, "sent", edges) : undefined,
    };
  }
}

function pendingEntry(pending, context) {
  const state = context.standing;
  return {
    key: `c ${pending.client_msg_id}`,
    stamp: `mine ${context.first}${context.last}${state}`,
    make: () => pendingRow(pending, context),
    update: (node) => adapt(node, state, context),
  };
}

function adapt(node, state, { first, last }) {
  node.classList.toggle("first", first);
  node.classList.toggle("last", last);
  return updateMine(node, state);
}

function together(before, after) {
  if (!before || !after) return false;
  const [a, b] = [before, after].map((entry) => entry.item ?? { ...entry.pending, kind: "message.in" });
  const speech = a.kind === "message.in" || a.kind === "message.out";
  return speech && a.kind === b.kind && b.at - a.at < GROUP_S && dayKey(a.at) === dayKey(b.at);
}

function linkWords(name, failures) {
  if (name === "open") return ["live", "Connected"];
  if (navigator.onLine === false) return ["bad", "Offline"];
  if (failures === 0) return ["calm", "Connecting…"];
  return failures < 6 ? ["wait", "Reconnecting…"] : ["bad", "Server unreachable, retrying…"];
}
