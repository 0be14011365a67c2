// All sessions, newest first, with a search.

import { h } from "../dom.js";
import { page, table } from "./page.js";
import { count, keyLink, state, when } from "./words.js";

const PAGE = 100;
const PAGES_MAX = 10;
const TYPING_MS = 250;
const EMPTY = Object.freeze({
  title: "No sessions yet",
  text: "A session appears with its first event: a message, a webhook or a cron tick. The web chat at /chat starts one.",
});

export function sessionsView({ api, refresh }) {
  let pages = 1;
  const search = searchField(() => {
    pages = 1;
    refresh();
  });
  const list = table("Sessions", COLUMNS, (row) => row.key, EMPTY);
  const more = h("button", { class: "button more", type: "button", hidden: true }, "Show more");
  more.addEventListener("click", () => {
    pages = Math.min(PAGES_MAX, pages + 1);
    refresh();
  });
  const { node, trouble } = page("Sessions", { tools: [search.node] }, list.node, more);

  async function load(signal) {
    const { rows, next } = await read(api, search.value(), pages, signal);
    const q = search.value();
    if (q) list.nothing("Nothing found", `No session's key, agent or last text holds “${q}”.`);
    else list.nothing(EMPTY.title, EMPTY.text);
    list.show(rows);
    more.hidden = next === null || pages === PAGES_MAX;
  }
  return { title: "Sessions", node, trouble, load, close: search.close };
}

async function read(api, q, pages, signal) {
  const rows = [];
  let next = null;
  for (let number = 0; number < pages; number += 1) {
    const answer = await api.get("/v1/sessions", { limit: PAGE, q, after: next }, signal);
    rows.push(...answer.sessions);
    next = answer.next ?? null;
    if (next === null) break;
  }
  return { rows, next };
}

function searchField(changed) {
  let timer = 0;
  const input = h("input", { class: "field search", type: "search", placeholder: "Find by key, agent or text", "aria-label": "Find sessions" });
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(changed, TYPING_MS);
  });
  return { node: input, value: () => input.value.trim(), close: () => clearTimeout(timer) };
}

const COLUMNS = Object.freeze([
  { name: "Session", class: "wide", cell: sessionCell },
  { name: "Status", cell: statusCell },
  { name: "Turns", class: "num", cell: (row) => count(row.turns) },
  { name: "Open", class: "open-work", cell: openCell },
  { name: "Updated", class: "time", cell: (row) => when(row.updated_at) },
]);

function sessionCell(row) {
  return h("div", {}, keyLink(row.key), row.last_text ? h("p", { class: "preview" }, row.last_text) : null);
}

function statusCell(row) {
  return h("div", { class: "stack" }, state(row.status), row.phase ? h("span", { class: "small" }, row.phase) : null);
}

function openCell(row) {
  const words = [
    [row.queued, "queued", "queued"],
    [row.waits_open, "wait", "waits"],
    [row.effects_open, "effect", "effects"],
  ];
  const shown = words.filter(([number]) => number > 0).map(([number, one, many]) => `${count(number)} ${number === 1 ? one : many}`);
  return shown.length ? h("ul", { class: "lines" }, ...shown.map((line) => h("li", {}, line))) : null;
}
