// One row of the conversation: a stop on the line, with the words beside it.

import { clock, full } from "../time.js";
import { h, icon } from "../dom.js";
import { askCard } from "./ask.js";
import { markdown } from "./markdown.js";

const UNDELIVERED = Object.freeze({
  retry: "Not delivered yet, trying again",
  unknown: "It is not known whether this arrived",
  failed: "Could not be delivered",
  expired: "Not delivered in time",
  cancelled: "Cancelled",
});

/** A row for `item`. `context`: {agent, first, last, wait?, actions}. */
export function itemRow(item, context) {
  switch (item.kind) {
    case "message.in":
      return mine(item, "sent", context);
    case "message.out":
      return theirs(item, context);
    case "ask":
      return row("ask-row", context, askCard(item, context.wait, context.actions.answer), foot(item.at));
    case "answer":
      return row("note", context, h("p", {}, answerWords(item), stamp(item.at)));
    default:
      return row("note", context, h("p", {}, item.text, stamp(item.at)));
  }
}

/** A row for what is on its way: an outbox `entry`. */
export function pendingRow(entry, context) {
  return mine(entry, context.standing, context);
}

/** How an outbox entry stands: sending, sent, failed, or kept until there is a connection. */
export function standing(entry, connected) {
  if (entry.trouble) return "failed";
  if (entry.accepted) return "sent";
  return connected ? "sending" : "kept";
}

/** Adapts a row of one's own in place, so that a tick is not read out as a new message. */
export function updateMine(node, state) {
  if (node.dataset.state === "failed" || state === "failed") return false;
  node.dataset.state = state;
  node.querySelector(".standing").replaceChildren(...standingWords(state));
  return true;
}

/** A line between two days. */
export function dayRow(name) {
  return h("li", { class: "day" }, h("span", {}, name));
}

function row(kind, context, ...children) {
  const edges = `${context.first ? " first" : ""}${context.last ? " last" : ""}`;
  return h("li", { class: `row ${kind}${edges}` }, ...children);
}

function mine(message, state, context) {
  const words = h("div", { class: "bubble" }, message.text);
  const under = h("p", { class: "stamp" }, h("span", { class: "unseen" }, "You, "), time(message.at));
  under.append(h("span", { class: "standing" }, ...standingWords(state)));
  const node = row("mine", context, words, under);
  node.dataset.state = state;
  if (state === "failed") node.append(failure(message, context.actions));
  return node;
}

function standingWords(state) {
  if (state === "sending") return [icon("clock"), "Sending"];
  if (state === "kept") return [icon("clock"), "Sending once connected"];
  if (state === "failed") return [icon("alert"), "Not sent"];
  return [icon("tick"), h("span", { class: "unseen" }, "Sent")];
}

function failure(entry, actions) {
  const { title, detail, hint } = entry.trouble;
  const again = h("button", { class: "button small", type: "button" }, "Try again");
  const drop = h("button", { class: "button quiet small", type: "button" }, "Discard");
  again.addEventListener("click", () => actions.retry(entry));
  drop.addEventListener("click", () => actions.discard(entry));
  const words = [title, detail, hint].filter(Boolean).join(" ");
  return h("div", { class: "failure" }, h("p", {}, words), h("div", { class: "choices" }, again, drop));
}

function theirs(item, context) {
  const node = row("theirs", context);
  if (context.first) node.append(h("p", { class: "who" }, context.agent || "Agent"));
  node.append(h("div", { class: "words" }, markdown(item.text ?? "")));
  if (UNDELIVERED[item.state]) node.append(h("p", { class: "undelivered" }, icon("alert"), UNDELIVERED[item.state]));
  if (context.last) node.append(foot(item.at));
  return node;
}

function answerWords(item) {
  if (item.text) return item.text;
  const word = { approved: "approved", rejected: "rejected" }[item.answer] ?? "answered";
  return item.client_msg_id ? `You ${word}` : word[0].toUpperCase() + word.slice(1);
}

function foot(at) {
  return h("p", { class: "stamp" }, time(at));
}

function stamp(at) {
  return h("span", { class: "stamp" }, time(at));
}

function time(at) {
  return h("time", { datetime: new Date(at * 1000).toISOString(), title: full(at) }, clock(at));
}
