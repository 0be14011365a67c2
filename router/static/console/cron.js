// Jobs by the clock.

import { h } from "../dom.js";
import { page, table } from "./page.js";
import { state, when } from "./words.js";

const COLUMNS = Object.freeze([
  { name: "Job", class: "wide", cell: jobCell },
  { name: "State", cell: (row) => state(row.paused ? "paused" : "scheduled") },
  { name: "Schedule", cell: scheduleCell },
  { name: "Next", class: "time", cell: (row) => (row.paused ? null : when(row.next_due)) },
  { name: "Last", class: "time", cell: (row) => when(row.last_nominal) },
]);

export function cronView({ api }) {
  const list = table("Cron jobs", COLUMNS, (row) => `${row.agent} ${row.job}`, {
    title: "No jobs",
    text: "Give an agent a cron handler and its job appears here.",
  });
  const { node, trouble } = page("Cron", {}, list.node);

  async function load(signal) {
    const { jobs } = await api.get("/v1/cron", {}, signal);
    list.show(jobs);
  }
  return { title: "Cron", node, trouble, load };
}

function jobCell(row) {
  const policies = [row.misfire && `missed: ${row.misfire.replaceAll("_", " ")}`, row.overlap && `overlap: ${row.overlap}`];
  return h(
    "div",
    {},
    h("p", { class: "summary" }, row.job, h("span", { class: "small" }, ` ${row.agent}`)),
    h("p", { class: "small" }, policies.filter(Boolean).join(" · ")),
  );
}

function scheduleCell(row) {
  return h("div", { class: "stack" }, h("span", { class: "mono" }, row.schedule), h("span", { class: "small" }, row.tz));
}
