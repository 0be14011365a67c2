// The transcript as a line with a stop for each event, grouped by turn.

import { KeyedList } from "../keyed.js";
import { clockExact, dayName, full } from "../time.js";
import { h, icon } from "../dom.js";
import { emptyState } from "./page.js";
import { summary } from "./summary.js";
import { unfold } from "./words.js";

const PAGE = 200;
const PAGES_PER_LOAD = 10;
const SHOWN_FIRST = 300;
const ORDER = "turnline.console.newest-first";

export function timeline(api, path) {
  const events = [];
  let shown = SHOWN_FIRST;
  let newestFirst = sessionStorage.getItem(ORDER) !== "no";
  const rows = h("ol", { class: "line" });
  const list = new KeyedList(rows);
  const nothing = emptyState({ title: "No events yet", text: "The transcript begins with the session's first turn." });
  const flip = h("button", { class: "button quiet small", type: "button" }, icon("sort"), h("span", {}));
  const more = h("button", { class: "button small more", type: "button", hidden: true }, "Show more events");
  nothing.hidden = true;
  flip.addEventListener("click", () => {
    newestFirst = !newestFirst;
    sessionStorage.setItem(ORDER, newestFirst ? "yes" : "no");
    draw();
  });
  more.addEventListener("click", () => {
    shown += SHOWN_FIRST;
    draw();
  });
  const node = h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", {}, "Transcript"), flip), rows, more, nothing);

  function draw() {
    flip.lastChild.textContent = newestFirst ? "Newest first" : "Oldest first";
    const part = events.slice(-shown);
    more.hidden = part.length === events.length;
    nothing.hidden = events.length > 0;
    list.show(withTurns(newestFirst ? part.reverse() : part));
  }

  async function load(signal) {
    for (let page = 0; page < PAGES_PER_LOAD; page += 1) {
      const after = events.at(-1)?.seq ?? 0;
      const answer = await api.get(`${path}/transcript`, { after, limit: PAGE }, signal);
      events.push(...answer.events.filter((event) => event.seq > after));
      if (answer.next === null || answer.next === undefined || answer.events.length === 0) break;
    }
    draw();
  }
  return { node, load };
}

function withTurns(events) {
  const rows = [];
  let turn = null;
  let epoch = events[0]?.epoch;
  for (const event of events) {
    if (event.epoch !== epoch) {
      epoch = event.epoch;
      rows.push({ key: `epoch ${event.seq}`, stamp: String(epoch), make: () => h("li", { class: "epoch" }, `Epoch ${event.epoch}`) });
      turn = null;
    }
    if (event.turn_id !== turn) {
      turn = event.turn_id;
      rows.push({ key: `turn ${turn} ${event.seq}`, stamp: "", make: () => turnRow(event) });
    }
    rows.push({ key: `event ${event.seq}`, stamp: "", make: () => eventRow(event) });
  }
  return rows;
}

function turnRow(event) {
  const name = event.turn_id ? [`Turn `, h("span", { class: "mono" }, shortId(event.turn_id))] : ["Outside a turn"];
  return h("li", { class: "turn", title: event.turn_id }, h("span", {}, ...name), h("span", { class: "small" }, dayName(event.at)));
}

function shortId(id) {
  return id.length > 14 ? `…${id.slice(-12)}` : id;
}

function eventRow(event) {
  const { tone, words } = summary(event);
  const time = h("time", { datetime: new Date(event.at * 1000).toISOString(), title: full(event.at) }, clockExact(event.at));
  return h(
    "li",
    { class: `stop ${tone}` },
    h("p", { class: "stop-head" }, h("span", { class: "type mono" }, event.type), time, h("span", { class: "seq mono" }, `#${event.seq}`)),
    words ? h("p", { class: "stop-words" }, words) : null,
    unfold("JSON", event.body, `event ${event.seq}`),
  );
}
