// Builds elements. Data only ever becomes text nodes and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";

const ICONS = Object.freeze({
  send: "M5 12h13M12.5 5.5 19 12l-6.5 6.5",
  down: "M12 5v14M6 13l6 6 6-6",
  tick: "M5 12.5 10 17.5 19 7",
  clock: "M12 7v5l3 2M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17Z",
  alert: "M12 8v5M12 16.5v.01M12 3.8 21 19.5H3L12 3.8Z",
  cross: "M6.5 6.5l11 11M17.5 6.5l-11 11",
  copy: "M9 9h10v11H9zM5 15V4h10",
  back: "M19 12H6M11.5 5.5 5 12l6.5 6.5",
  sort: "M8 5v14M4.5 15.5 8 19l3.5-3.5M16 19V5M12.5 8.5 16 5l3.5 3.5",
});

// They make text read in another order than it is stored: who approves would read other words than those approved.
const REORDERING = /[\u202A-\u202E\u2066-\u2069]/g;

/** An element. `props`: attributes; `class`, `on` ({event: handler}) and `data` (dataset) are special. */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    } else if (name === "data") {
      Object.assign(node.dataset, value);
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  const given = children.flat().filter((child) => child !== null && child !== undefined && child !== false);
  node.append(...given.map((child) => (typeof child === "string" ? child.replace(REORDERING, "\uFFFD") : child)));
  return node;
}

/** One of the line icons, hidden from screen readers: the words beside it say it. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** A state as a badge: `tone` is calm, live, done, wait, bad or odd. */
export function badge(tone, word) {
  return h("span", { class: `badge ${tone}` }, word);
}

/** A random version 4 UUID; also on plain http, where `crypto.randomUUID` is missing. */
export function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
