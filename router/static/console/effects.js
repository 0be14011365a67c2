// The outbox: every effect with its state, filtered by state.

import { h } from "../dom.js";
import { choice, page, table } from "./page.js";
import { keyLink, state, when } from "./words.js";

const LIMIT = 100;
const STATES = ["pending", "sending", "retry", "unknown", "delivered", "failed", "expired", "cancelled"];

export function effectsView({ api, refresh }) {
  const filter = choice("State", [["", "All"], ...STATES.map((word) => [word, capital(word)])], () => refresh());
  const list = effectsTable(true);
  const { node, trouble } = page("Effects", { about: "Everything that goes out, each under one id for life." }, filter.node, list.node);

  async function load(signal) {
    const { effects } = await api.get("/v1/effects", { state: filter.value, limit: LIMIT }, signal);
    list.show(effects);
  }
  return { title: "Effects", node, trouble, load };
}

/** The table of effects, with or without its session column. */
export function effectsTable(withSession) {
  const columns = [
    { name: "Effect", class: "wide", cell: effectCell },
    { name: "State", cell: stateCell },
    { name: "Session", class: "wide", cell: (row) => keyLink(row.session_key) },
    { name: "Attempts", class: "num", cell: (row) => String(row.attempts) },
    { name: "Written", class: "time", cell: (row) => when(row.created_at) },
  ].filter(({ name }) => withSession || name !== "Session");
  return table("Effects", columns, (row) => row.effect_id, {
    title: "No effects",
    text: "A reply, a call or a tool run appears here once a turn has decided on it.",
  });
}

function effectCell(row) {
  const words = [row.adapter, row.lane].filter(Boolean).join(" → ");
  return h(
    "div",
    {},
    h("p", { class: "summary" }, row.summary || row.effect_id),
    h("p", { class: "small mono" }, words),
    row.error ? h("p", { class: "error-line" }, row.error) : null,
    h("details", { class: "unfold", data: { keep: row.effect_id } }, h("summary", {}, "Details"), details(row)),
  );
}

function details(row) {
  const known = [
    ["id", row.effect_id],
    ["receipt", row.receipt],
    ["id there", row.external_id],
  ].filter(([, value]) => value);
  return h("dl", { class: "pairs mono" }, ...known.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function stateCell(row) {
  const due = row.due && ["retry", "unknown", "pending"].includes(row.state);
  return h(
    "div",
    { class: "stack" },
    state(row.state),
    due ? h("span", { class: "small due" }, "next look ", when(row.due)) : null,
    row.possible_duplicate ? h("span", { class: "small odd-text" }, "may be a duplicate") : null,
  );
}

function capital(word) {
  return word[0].toUpperCase() + word.slice(1);
}
