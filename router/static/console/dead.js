// Events that were given up, with the reason, and the way back.

import { h } from "../dom.js";
import { page, table } from "./page.js";
import { keyLink, state, when } from "./words.js";

export function deadView({ api, toasts, refresh }) {
  const columns = [
    { name: "Event", class: "wide", cell: eventCell },
    { name: "State", cell: (row) => state(row.state) },
    { name: "Session", class: "wide", cell: (row) => keyLink(row.session_key) },
    { name: "Given up", class: "time", cell: (row) => when(row.at) },
    { name: "", class: "act", cell: (row) => (row.state === "dead" ? redriveButton(row, { api, toasts, refresh }) : null) },
  ];
  const list = table("Dead letters", columns, (row) => row.id, {
    title: "No dead letters",
    text: "An event that cannot be read, or whose turn keeps failing, is kept here whole until you redrive it.",
  });
  const about = "Kept as they came. Redrive one once its cause is fixed.";
  const { node, trouble } = page("Dead letters", { about }, list.node);

  async function load(signal) {
    const { dead } = await api.get("/v1/dead", {}, signal);
    list.show(dead);
  }
  return { title: "Dead letters", node, trouble, load };
}

function eventCell(row) {
  return h(
    "div",
    {},
    h("p", { class: "summary" }, row.reason),
    h("p", { class: "small mono" }, `${row.source} · ${row.event_id}`),
    row.preview ? h("p", { class: "raw mono" }, row.preview) : null,
  );
}

function redriveButton(row, { api, toasts, refresh }) {
  const button = h("button", { class: "button small", type: "button", "aria-label": `Redrive ${row.event_id}` }, "Redrive");
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await api.post(`/v1/dead/${encodeURIComponent(row.id)}/redrive`);
      toasts.done("Redriven: the event is queued again.");
    } catch (problem) {
      toasts.problem(problem);
    }
    button.disabled = false;
    refresh();
  });
  return button;
}
