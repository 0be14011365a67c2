// The console: the door, the router over the hash, and the loop that keeps the open view fresh.

import { Api, Problem } from "./console/api.js";
import { approvalsView } from "./console/approvals.js";
import { cronView } from "./console/cron.js";
import { deadView } from "./console/dead.js";
import { effectsView } from "./console/effects.js";
import { Loop } from "./console/loop.js";
import { sessionView } from "./console/session.js";
import { sessionsView } from "./console/sessions.js";
import { Tallies } from "./console/tallies.js";
import { Toasts } from "./console/toasts.js";
import { Token } from "./console/token.js";
import { refreshTimes } from "./console/words.js";
import { badge } from "./dom.js";

const place = (id) => document.getElementById(id);
const token = new Token(sessionStorage, location, history);
const api = new Api(token);
const toasts = new Toasts(place("toasts"));
const tallies = new Tallies(api, place("nav"));
const loop = new Loop({ load, done: showPulse });
const context = { api, toasts, refresh };

const VIEWS = Object.freeze({
  sessions: sessionsView,
  approvals: approvalsView,
  effects: effectsView,
  dead: deadView,
  cron: cronView,
});

let view = null;

function refresh() {
  tallies.soon();
  loop.now();
}

function route() {
  if (token.takeFromFragment()) start();
  const [, name, ...rest] = location.hash.split("/");
  if (location.hash && !location.hash.startsWith("#/")) return;
  const key = rest.length ? decodeKey(rest.join("/")) : "";
  if (name === "sessions" && key) open("sessions", sessionView(context, key));
  else if (Object.hasOwn(VIEWS, name ?? "")) open(name, VIEWS[name](context));
  else location.replace("#/sessions");
}

function decodeKey(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function open(name, next) {
  const first = view === null;
  view?.close?.();
  view = next;
  for (const link of place("nav").children) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  place("nav").querySelector("[aria-current]").scrollIntoView({ block: "nearest", inline: "center" });
  place("view").replaceChildren(next.node);
  document.title = `${next.title} · Turnline`;
  scrollTo(0, 0);
  if (!first) next.node.querySelector("h1")?.focus({ preventScroll: true });
  loop.now();
}

async function load(signal) {
  if (!token.value || !view) return;
  const current = view;
  await Promise.all([current.load(signal), tallies.load(signal)]);
  current.node.classList.add("loaded");
  refreshTimes(current.node);
}

function showPulse(error) {
  if (error instanceof Problem && error.status === 401) {
    showDoor(`${error.title} ${error.hint ?? ""}`.trim());
    return;
  }
  place("pulse").replaceChildren(error ? badge("bad", error.isOffline ? "No connection" : "Not fresh") : badge("live", "Live"));
  view?.trouble?.(error);
}

function showDoor(trouble) {
  loop.stop();
  token.forget();
  place("frame").hidden = true;
  place("door").hidden = false;
  place("door-trouble").textContent = trouble;
  place("token").focus();
}

function start() {
  place("door").hidden = true;
  place("frame").hidden = false;
  tallies.soon();
  loop.start();
}

place("door-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token.keep(place("token").value.trim());
  place("token").value = "";
  start();
  loop.now();
});
place("leave").addEventListener("click", () => showDoor(""));
place("skip").addEventListener("click", (event) => {
  event.preventDefault();
  place("view").focus();
});
addEventListener("hashchange", route);

if (token.takeFromFragment() || token.value) start();
else showDoor("");
route();
