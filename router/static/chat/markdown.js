// Light Markdown for the bot's words, built as nodes: paragraphs, headings, lists, quotes, code, bold, italics, links.
// One pass over the lines and one over each line's characters; nothing is ever parsed as HTML.

import { h, icon } from "../dom.js";

const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)\s*$/;
const BULLET = /^(\s*)[-*+•]\s+(.*)$/;
const NUMBER = /^(\s*)(\d{1,9})[.)]\s+(.*)$/;
const HEADING = /^#{1,6}\s+(.*)$/;
const QUOTE = /^\s{0,3}>\s?(.*)$/;
const URL_MAX = 2048;
const URL_START = /^https?:\/\/[^\s<>"'`]+/i;

/** The text as a fragment. */
export function markdown(text) {
  const fragment = document.createDocumentFragment();
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  let at = 0;
  while (at < lines.length) {
    const [node, next] = block(lines, at);
    if (node) fragment.append(node);
    at = next;
  }
  return fragment;
}

function block(lines, at) {
  const line = lines[at];
  if (!line.trim()) return [null, at + 1];
  if (FENCE.test(line)) return fence(lines, at);
  if (BULLET.test(line) || NUMBER.test(line)) return list(lines, at);
  if (QUOTE.test(line)) return quote(lines, at);
  const heading = HEADING.exec(line);
  if (heading) return [h("p", { class: "heading" }, ...inline(heading[1])), at + 1];
  return paragraph(lines, at);
}

function fence(lines, at) {
  const [, mark, language] = FENCE.exec(lines[at]);
  let end = at + 1;
  while (end < lines.length && !closes(lines[end], mark)) end += 1;
  return [codeBlock(lines.slice(at + 1, end).join("\n"), language), end + 1];
}

function closes(line, mark) {
  const bare = line.trim();
  return bare.length >= mark.length && bare === mark[0].repeat(bare.length);
}

function codeBlock(code, language) {
  const copy = h("button", { class: "button quiet small", type: "button" }, icon("copy"), "Copy");
  copy.addEventListener("click", async () => {
    await navigator.clipboard?.writeText(code);
    copy.lastChild.textContent = navigator.clipboard ? "Copied" : "Select and copy by hand";
  });
  const head = h("figcaption", {}, h("span", {}, language || "code"), copy);
  return h("figure", { class: "code" }, head, h("pre", { tabindex: "0" }, h("code", {}, code)));
}

function paragraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && continues(lines[end])) end += 1;
  return [h("p", {}, ...inline(lines.slice(at, end).join("\n"))), end];
}

function continues(line) {
  return Boolean(line.trim()) && ![FENCE, BULLET, NUMBER, QUOTE, HEADING].some((start) => start.test(line));
}

function quote(lines, at) {
  const inner = [];
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) {
    inner.push(h("p", {}, ...inline(QUOTE.exec(lines[end])[1])));
    end += 1;
  }
  return [h("blockquote", {}, ...inner), end];
}

function list(lines, at) {
  const ordered = !BULLET.test(lines[at]);
  const start = ordered ? Number(NUMBER.exec(lines[at])[2]) : 1;
  const node = h(ordered ? "ol" : "ul", ordered && start !== 1 ? { start } : {});
  let end = at;
  let inner = null;
  const top = indentOf(lines[at]);
  while (end < lines.length && isItem(lines[end])) {
    const line = lines[end];
    const deeper = indentOf(line) >= top + 2;
    if (!deeper && BULLET.test(line) === ordered) break;
    if (deeper && node.lastChild) {
      inner ??= node.lastChild.appendChild(h(BULLET.test(line) ? "ul" : "ol"));
      inner.append(item(line));
    } else {
      inner = null;
      node.append(item(line));
    }
    end += 1;
  }
  return [node, end];
}

function isItem(line) {
  return BULLET.test(line) || NUMBER.test(line);
}

function indentOf(line) {
  return line.length - line.trimStart().length;
}

function item(line) {
  const text = BULLET.exec(line)?.[2] ?? NUMBER.exec(line)[3];
  return h("li", {}, ...inline(text));
}

function inline(text, depth = 0) {
  const nodes = [];
  let plain = "";
  let at = 0;
  while (at < text.length) {
    const found = depth < 4 ? span(text, at, depth) : null;
    if (found) {
      nodes.push(...broken(plain), found.node);
      plain = "";
      at = found.end;
    } else {
      plain += text[at];
      at += 1;
    }
  }
  nodes.push(...broken(plain));
  return nodes;
}

function broken(plain) {
  return plain.split("\n").flatMap((line, index) => (index > 0 ? [h("br"), line] : [line])).filter((part) => part !== "");
}

function span(text, at, depth) {
  switch (text[at]) {
    case "`":
      return wrapped(text, at, "`", (inner) => h("code", {}, inner));
    case "*":
      return text[at + 1] === "*"
        ? wrapped(text, at, "**", (inner) => h("strong", {}, ...inline(inner, depth + 1)))
        : wrapped(text, at, "*", (inner) => h("em", {}, ...inline(inner, depth + 1)));
    case "[":
      return link(text, at, depth);
    case "h":
    case "H":
      return /\w/.test(text[at - 1] ?? "") ? null : bareLink(text, at);
    default:
      return null;
  }
}

function wrapped(text, at, mark, make) {
  const close = text.indexOf(mark, at + mark.length);
  const inner = close < 0 ? "" : text.slice(at + mark.length, close);
  if (!inner || (mark !== "`" && (inner !== inner.trim() || inner.startsWith("*")))) return null;
  return { node: make(inner), end: close + mark.length };
}

function link(text, at, depth) {
  const middle = text.indexOf("](", at);
  const close = middle < 0 ? -1 : closing(text, middle + 2);
  if (close < 0) return null;
  const words = text.slice(at + 1, middle);
  const href = safeUrl(text.slice(middle + 2, close).trim());
  if (!href || !words || words.includes("[")) return null;
  return { node: anchor(href, inline(words, depth + 3)), end: close + 1 };
}

function closing(text, at) {
  let depth = 0;
  const limit = Math.min(text.length, at + URL_MAX);
  for (let end = at; end < limit && text[end] !== "\n"; end += 1) {
    if (text[end] === "(") depth += 1;
    else if (text[end] === ")" && depth-- === 0) return end;
  }
  return -1;
}

function bareLink(text, at) {
  const found = URL_START.exec(text.slice(at, at + URL_MAX));
  if (!found) return null;
  const url = found[0].replace(/[.,;:!?)\]*]+$/, "");
  const href = safeUrl(url);
  return href ? { node: anchor(href, [url]), end: at + url.length } : null;
}

function anchor(href, words) {
  return h("a", { href, target: "_blank", rel: "noopener noreferrer" }, ...words);
}

function safeUrl(text) {
  if (!/^https?:\/\//i.test(text)) return null;
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}
