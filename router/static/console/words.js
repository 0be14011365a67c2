// How the console spells things: states as badges, times, keys, numbers.

import { full, relative } from "../time.js";
import { badge, h } from "../dom.js";

const TONES = Object.freeze({
  active: "live", waiting: "wait", paused: "odd", completed: "done", failed: "bad", archived: "calm",
  pending: "calm", sending: "live", retry: "wait", unknown: "odd", delivered: "done", expired: "bad", cancelled: "calm",
  open: "wait", answered: "done", void: "odd", approved: "done", rejected: "bad",
  dead: "bad", redriven: "done", dropped: "calm", scheduled: "live",
});

const number = new Intl.NumberFormat("en");
const money = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 4 });

/** A state's badge; an unknown word is shown as it is. */
export const state = (word) => badge(TONES[word] ?? "calm", word || "none");
export const count = (value) => number.format(value ?? 0);
export const cost = (value) => money.format(value ?? 0);

/** "5 min ago", kept fresh by `refreshTimes`; a dash where there is no time. */
export function when(at) {
  if (!at) return h("span", { class: "none" }, "–");
  return h("time", { datetime: new Date(at * 1000).toISOString(), title: full(at), data: { at } }, relative(at));
}

/** Brings every relative time inside `node` up to now. */
export function refreshTimes(node) {
  for (const time of node.querySelectorAll("time[data-at]")) {
    const words = relative(Number(time.dataset.at));
    if (time.textContent !== words) time.textContent = words;
  }
}

/** A session key that may break at its slashes. */
export function keyText(key) {
  const [agent, ...rest] = key.split(/(?<=\/)/);
  return h("span", { class: "key mono" }, h("span", { class: "key-agent" }, agent), ...rest.flatMap((part) => [h("wbr"), part]));
}

/** A session key as a link to its page. */
export function keyLink(key) {
  if (!key) return h("span", { class: "none" }, "no session");
  return h("a", { href: `#/sessions/${encodeURIComponent(key)}`, class: "key-link" }, keyText(key));
}

/** A value on one line. */
export function brief(value) {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? "–" : JSON.stringify(value);
}

/** Names and values: for binds, goals and other small objects. */
export function pairs(object, label) {
  const rows = Object.entries(object).map(([name, value]) =>
    h("div", {}, h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, ...valueLines(value))),
  );
  return h("dl", { class: "pairs", "aria-label": label }, ...rows);
}

function valueLines(value) {
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) {
    return value.map((one) => h("span", { class: "value-line" }, brief(one)));
  }
  return [brief(value)];
}

/** JSON to unfold; it is only spelled once it is opened. */
export function unfold(words, value, keep) {
  const pre = h("pre", { class: "json", tabindex: "0" });
  const node = h("details", { class: "unfold", data: { keep } }, h("summary", {}, words), pre);
  node.addEventListener("toggle", () => {
    if (node.open && !pre.textContent) pre.textContent = JSON.stringify(value, null, 2);
  });
  return node;
}
