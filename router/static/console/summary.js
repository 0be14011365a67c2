// One line for each type of transcript event: what it says, and its tone.

import { brief } from "./words.js";

const WORDS_MAX = 400;

const said = (body) => ["calm", body.text ?? brief(body.data)];

const SUMMARIES = Object.freeze({
  "message.in": (body) => ["in", body.text ?? brief(body.data ?? body)],
  "message.out": (body) => ["out", body.text ?? brief(body)],
  "state.patched": (body) => ["calm", patches(body.ops ?? [])],
  "record.noted": (body) => ["calm", noted(body)],
  "artifact.stored": (body) => ["calm", `kept ${brief(body.name)}, ${body.size} bytes of ${brief(body.media_type)}`],
  "artifact.dropped": (body) => ["calm", `let ${brief(body.name)} go`],
  "workspace.changed": (body) => ["calm", `${Object.keys(body.set).length} files changed, ${body.removed.length} removed`],
  "fact.observed": (body) => ["calm", `${body.name} is ${brief(body.value)}`],
  "wait.opened": (body) => ["wait", `${body.question || `Waits for a ${body.kind}`}${then(body)}`],
  "wait.closed": (body) => ["wait", [body.answer ?? body.status, body.by && `by ${body.by}`].filter(Boolean).map(brief).join(" ")],
  "effect.requested": (body) => ["out", `${body.summary || body.adapter || body.effect_id}${then(body)}`],
  "outcome.received": (body) => [body.error ? "bad" : "in", [body.outcome, body.summary, body.error].filter(Boolean).join(" · ")],
  "turn.failed": (body) => ["bad", brief(body.error)],
  "turn.closed": (body) => ["end", body.run ? "The run goes on" : "The run is done"],
  "session.status": (body) => ["end", [body.status, body.reason].filter(Boolean).join(": ")],
  "step.recorded": (body) => ["calm", brief(body.step ?? body.key ?? body.name ?? "")],
  "step.set_aside": (body) => ["odd", `${brief(body.step ?? body.key ?? body.name ?? "")} is run again: newer code asks differently`],
  "effects.settled": (body) => ["calm", settled(body)],
  "event.unhandled": (body) => ["odd", `No handler for ${brief(body.type ?? body.kind ?? "this event")}`],
  "event.late": (body) => ["odd", `Came after its time: ${brief(body.text ?? body.type ?? body.reason ?? "")}`],
  "route.changed": (body) => ["calm", `Replies go to ${brief(body.route?.lane ?? body.lane ?? body.route ?? body)}`],
  "recovery.decided": (body) => ["odd", recovery(body)],
  "operator.acted": (body) => ["odd", [body.action ?? body.command, body.by && `by ${body.by}`, body.note].filter(Boolean).join(" ")],
});

/** `{tone, words}` for an event; a type that is not known shows its text or its first plain values. */
export function summary(event) {
  const body = event.body ?? {};
  const make = Object.hasOwn(SUMMARIES, event.type) ? SUMMARIES[event.type] : unknown;
  const [tone, words] = make(body);
  const text = brief(words ?? "");
  return { tone, words: text.length > WORDS_MAX ? `${text.slice(0, WORDS_MAX)}…` : text };
}

function unknown(body) {
  if (typeof body.text === "string") return said(body);
  const plain = Object.entries(body).filter(([, value]) => typeof value !== "object");
  return ["calm", plain.slice(0, 3).map(([name, value]) => `${name} ${value}`).join(" · ")];
}

function then({ then: name }) {
  return name ? ` → ${name}` : "";
}

function patches(ops) {
  const words = ops.slice(0, 4).map((op) => {
    if (op.op === "remove") return `${op.path} removed`;
    const value = brief(op.value);
    return `${op.path} = ${value.length > 60 ? `${value.slice(0, 60)}…` : value}`;
  });
  if (ops.length > 4) words.push(`${ops.length - 4} more`);
  return words.join(" · ");
}

function noted(body) {
  const parts = [];
  if (body.phase !== undefined) parts.push(`phase ${body.phase || "none"}`);
  if (body.plan_next !== undefined) parts.push(`next: ${body.plan_next || "nothing"}`);
  if (body.goal !== undefined) parts.push(`goal ${brief(body.goal.aim ?? body.goal)}`);
  return parts.join(" · ");
}

function settled(body) {
  const rows = body.settled ?? body.effects ?? [];
  if (!Array.isArray(rows)) return brief(body);
  return rows.map((row) => `${row.summary || row.effect_id} ${row.state ?? row.outcome ?? ""}`).join(" · ");
}

function recovery(body) {
  const reasons = body.reasons ?? (body.reason ? [body.reason] : []);
  const head = [body.decision, body.cause && `after ${body.cause}`].filter(Boolean).join(" ");
  return reasons.length ? `${head}: ${reasons.map(brief).join(", ")}` : head;
}
