// The parts that every view is built from: a heading, its trouble line, tables and empty states.

import { KeyedList } from "../keyed.js";
import { h, icon } from "../dom.js";

/** A view's frame: `{node, trouble(error)}` with a heading, optional tools on its right, and the body. */
export function page(title, { about = "", tools = [] }, ...body) {
  const trouble = h("div", { class: "trouble", role: "alert", hidden: true });
  const head = h(
    "div",
    { class: "head" },
    h("div", {}, h("h1", { tabindex: "-1" }, title), about ? h("p", { class: "about" }, about) : null),
    h("div", { class: "tools" }, ...tools),
  );
  const node = h("div", { class: "page" }, head, trouble, ...body);
  return { node, trouble: (error) => showTrouble(trouble, error) };
}

function showTrouble(place, error) {
  const words = error ? [error.detail, error.hint].filter(Boolean).join(" ") : "";
  const stamp = error ? `${error.title ?? error.message}|${words}` : "";
  place.hidden = !error;
  if (place.dataset.stamp === stamp) return;
  place.dataset.stamp = stamp;
  const title = h("strong", {}, error?.title ?? "The page could not be brought up to date.");
  place.replaceChildren(...(error ? [icon("alert"), h("p", {}, title, words ? ` ${words}` : "")] : []));
}

/** A table that stacks into cards on a phone. `columns`: {name, cell(row), class?}; rows are keyed by `keyOf`. */
export function table(label, columns, keyOf, empty) {
  const body = h("tbody", { role: "rowgroup" });
  const heads = columns.map(({ name, class: kind }) => h("th", { scope: "col", role: "columnheader", class: kind }, name));
  const head = h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...heads));
  const grid = h("table", { class: "table", role: "table", "aria-label": label }, head, body);
  const list = new KeyedList(body);
  const nothing = emptyState(empty);
  const node = h("div", { class: "table-wrap" }, grid, nothing);
  nothing.hidden = true;
  grid.hidden = true;
  return {
    node,
    nothing: (title, text) => nothing.replaceChildren(...emptyState({ title, text }).childNodes),
    show(rows) {
      grid.hidden = rows.length === 0;
      nothing.hidden = rows.length > 0;
      list.show(rows.map((row) => ({ key: keyOf(row), stamp: JSON.stringify(row), make: () => tableRow(columns, row) })));
    },
  };
}

function tableRow(columns, row) {
  const cells = columns.map(({ name, cell, class: kind }) => {
    const content = cell(row);
    const blank = content === null || content === "";
    return h("td", { role: "cell", class: blank ? `${kind ?? ""} blank` : kind, data: { name } }, content);
  });
  return h("tr", { role: "row" }, ...cells);
}

/** Says that there is nothing, and what would make something appear. */
export function emptyState({ title, text }) {
  return h("div", { class: "nothing" }, h("p", { class: "nothing-title" }, title), h("p", {}, text));
}

/** A row of choices of which one is on: `{node, value}`; `changed()` is called after a choice. */
export function choice(label, options, changed) {
  const buttons = options.map(([value, words]) =>
    h("button", { type: "button", class: "tab", data: { value }, on: { click: () => choose(value) } }, words),
  );
  const control = { node: h("div", { class: "tabs", role: "group", "aria-label": label }, ...buttons), value: options[0][0] };
  function choose(value) {
    control.value = value;
    mark();
    changed();
  }
  function mark() {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.value === control.value));
  }
  mark();
  return control;
}
