// The web chat: one socket, one conversation, one composer, wired together.

import { Alerts } from "./chat/alerts.js";
import { Composer } from "./chat/composer.js";
import { Conversation } from "./chat/conversation.js";
import { Follow } from "./chat/follow.js";
import { Outbox } from "./chat/outbox.js";
import { ChatSocket } from "./chat/socket.js";
import { View } from "./chat/view.js";
import { nowSeconds } from "./time.js";
import { uuid } from "./dom.js";

const RESEND_AFTER_S = 10;
const RESEND_CHECK_MS = 3000;

const agent = new URLSearchParams(location.search).get("agent") ?? "";
const outbox = new Outbox(localStorage, `turnline.chat.outbox:${agent}`);
const conversation = new Conversation(outbox);
const alerts = new Alerts(document.getElementById("alerts"));
const follow = new Follow(document.getElementById("room"), document.getElementById("pill"));
const view = new View(document, { answer, retry, discard });
const composer = new Composer(document, say);
const socket = new ChatSocket({ address, state: showState, frame: receive });

function address() {
  const url = new URL("/v1/chat/ws", location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  url.searchParams.set("after", String(conversation.after()));
  if (agent) url.searchParams.set("agent", agent);
  return url.href;
}

function draw() {
  follow.around(() => view.show(conversation));
}

function showState(state) {
  view.link(state);
  conversation.connected = state.name === "open";
  if (!conversation.connected) conversation.typing = false;
  draw();
}

function say(text) {
  const entry = { client_msg_id: uuid(), type: "message", text, at: nowSeconds() };
  if (!outbox.add(entry)) {
    alerts.show({ title: "Too many messages are waiting to be sent.", hint: "Wait for the connection to come back." });
    return false;
  }
  alerts.clear();
  transmit(entry);
  follow.stick();
  draw();
  return true;
}

function answer(waitId, decision) {
  if (outbox.all().some((entry) => entry.wait_id === waitId)) return;
  const entry = { client_msg_id: uuid(), type: "answer", wait_id: waitId, decision, at: nowSeconds() };
  conversation.clearTrouble(waitId);
  if (!outbox.add(entry)) return;
  transmit(entry);
  draw();
}

function retry(entry) {
  outbox.remove(entry.client_msg_id);
  say(entry.text);
}

function discard(entry) {
  outbox.remove(entry.client_msg_id);
  draw();
}

function transmit(entry) {
  const { client_msg_id, type, text, wait_id, decision } = entry;
  const frame = type === "answer" ? { type, client_msg_id, wait_id, decision } : { type, client_msg_id, text };
  if (socket.send(frame)) conversation.sentAt.set(client_msg_id, nowSeconds());
}

function transmitAll() {
  for (const entry of outbox.unsent()) transmit(entry);
}

function resendStale() {
  if (!socket.isOpen) return;
  for (const entry of outbox.unsent()) {
    const due = Math.max(conversation.sentAt.get(entry.client_msg_id) ?? 0, entry.retry_at ?? 0) + RESEND_AFTER_S;
    if (nowSeconds() > due) transmit(entry);
  }
}

const handlers = {
  hello(frame) {
    const known = conversation.begin(frame);
    view.agent(frame.agent);
    if (!known) return socket.reconnect();
    transmitAll();
    return undefined;
  },
  history: (frame) => conversation.addAll(frame.items, true),
  item: (frame) => conversation.addAll([frame.item], false),
  accepted: (frame) => conversation.accept(frame.client_msg_id),
  wait: (frame) => conversation.settle(frame.wait_id, frame.status, frame.answer),
  typing(frame) {
    conversation.typing = Boolean(frame.on);
  },
  error(frame) {
    if (!conversation.refuse(frame, nowSeconds())) alerts.show(frame);
  },
};

function receive(frame) {
  const handler = Object.hasOwn(handlers, frame.type) ? handlers[frame.type] : null;
  if (!handler) return;
  handler(frame);
  follow.count(frame.type === "item" && frame.item.kind !== "message.in");
  draw();
}

setInterval(resendStale, RESEND_CHECK_MS);
addEventListener("online", () => socket.nudge());
addEventListener("offline", () => socket.nudge());
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && socket.nudge());
addEventListener("storage", draw);
draw();
socket.start();
composer.focus();
