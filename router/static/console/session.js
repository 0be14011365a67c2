// One session: its record and waits beside its transcript.

import { KeyedList } from "../keyed.js";
import { h, icon } from "../dom.js";
import { span } from "../time.js";
import { answerForm } from "./approvals.js";
import { effectsTable } from "./effects.js";
import { page } from "./page.js";
import { timeline } from "./timeline.js";
import { brief, cost, count, keyText, pairs, state, unfold, when } from "./words.js";

export function sessionView(context, key) {
  const path = `/v1/sessions/${encodeURIComponent(key)}`;
  const back = h("a", { class: "back", href: "#/sessions" }, icon("back"), "Sessions");
  const facts = h("div", { class: "facts" });
  const aside = h("div", { class: "aside" });
  const lists = { facts: new KeyedList(facts), aside: new KeyedList(aside) };
  const line = timeline(context.api, path);
  const effects = effectsTable(false);
  const { node, trouble } = page(
    keyText(key),
    { tools: [] },
    facts,
    h("div", { class: "columns" }, aside, h("div", { class: "stream" }, line.node, section("Effects", effects.node))),
  );
  node.prepend(back);
  node.classList.add("session");

  async function load(signal) {
    const [session, { effects: rows }] = await Promise.all([
      context.api.get(path, {}, signal),
      context.api.get(`${path}/effects`, {}, signal),
      line.load(signal),
    ]);
    lists.facts.show(keyed(factList(session)));
    lists.aside.show(keyed(panels(session, context)));
    effects.show(rows);
  }
  return { title: key, node, trouble, load };
}

function keyed(parts) {
  return parts.filter(Boolean).map(([key, data, make]) => ({ key, stamp: JSON.stringify(data), make }));
}

function section(title, ...body) {
  return h("section", { class: "panel" }, h("h2", {}, title), ...body);
}

function factList({ status, phase, agent, epoch, totals, lease }) {
  const used = totals ?? {};
  return [
    ["status", status, () => fact("Status", state(status))],
    ["phase", phase, () => fact("Phase", phase || "–")],
    ["agent", agent, () => fact("Agent", agent)],
    ["turns", used.turns, () => fact("Turns", count(used.turns))],
    ["tokens", used.tokens, () => fact("Tokens", count(used.tokens))],
    ["cost", used.cost, () => fact("Cost", cost(used.cost))],
    ["time", used.seconds, () => fact("Handler time", span(used.seconds ?? 0))],
    ["epoch", epoch, () => fact("Epoch", count(epoch))],
    ["lease", lease?.owner, () => fact("Owner", lease ? h("span", { class: "mono" }, lease.owner) : "nobody")],
  ];
}

function fact(name, value) {
  return h("div", { class: "fact" }, h("span", { class: "fact-name" }, name), h("span", { class: "fact-value" }, value));
}

function panels(session, context) {
  const { awaited = [], queued = [], goal, plan_next: plan, next, run, state: own, reply_route: route } = session;
  return [
    ["now", [next, plan, goal], () => nowPanel(next, plan, goal)],
    awaited.length ? ["awaited", awaited, () => section("Waiting for", h("ul", { class: "items" }, ...awaited.map((wait) => waitItem(wait, context))))] : null,
    queued.length ? ["queued", queued, () => section(`Queued (${count(queued.length)})`, h("ol", { class: "items" }, ...queued.map(queuedItem)))] : null,
    run ? ["run", run, () => section("Open run", pairs(run, "Open run"))] : null,
    ["state", [own, route], () => statePanel(own, route)],
  ];
}

function nowPanel(next, plan, goal) {
  const parts = [h("p", { class: next ? "next" : "none" }, next || "Nothing: it is idle until something arrives.")];
  if (plan) parts.push(h("h3", {}, "Plan"), h("p", {}, plan));
  if (typeof goal === "string" && goal) parts.push(h("h3", {}, "Goal"), h("p", {}, goal));
  else if (goal && Object.keys(goal).length) parts.push(h("h3", {}, "Goal"), pairs(goal, "Goal"));
  return section("Next", ...parts);
}

function waitItem(wait, context) {
  const about = [`${wait.kind}, then `, h("code", {}, wait.then || "nothing")];
  if (wait.expires_at) about.push(", expires ", when(wait.expires_at));
  return h(
    "li",
    { class: wait.kind === "approval" ? "item wait" : "item" },
    h("p", { class: "item-title" }, wait.question || wait.kind),
    h("p", { class: "small" }, ...about),
    wait.kind === "approval" ? answerForm(wait.wait_id, context, false) : null,
  );
}

function queuedItem(row) {
  const about = [`${row.kind} · ${row.type}`];
  if (row.attempts) about.push(` · attempt ${row.attempts}`);
  if (row.due) about.push(" · due ", when(row.due));
  return h("li", { class: "item" }, h("p", { class: "item-title" }, row.text || row.type), h("p", { class: "small" }, ...about));
}

function statePanel(own, route) {
  const parts = [unfold("State", own ?? {}, "state")];
  if (route) parts.push(unfold(`Reply route: ${brief(route.adapter ?? route.lane)}`, route, "route"));
  return section("Record", ...parts);
}
