// An ask as a card: the question, what it is bound to, the buttons, and who answered.

import { h, icon } from "../dom.js";

const WORDS = Object.freeze({
  approve: { button: "Approve", doing: "Approving…" },
  reject: { button: "Reject", doing: "Rejecting…" },
});

/** The card of `item`, standing as `wait` says; `answer(waitId, decision)` is called once a button is pressed. */
export function askCard(item, wait, answer) {
  const card = h("article", { class: `ask ${wait.status}`, "aria-label": "A question that waits for an answer" });
  card.append(h("p", { class: "ask-title" }, title(wait)), h("p", { class: "question" }, item.text));
  const binds = Object.entries(item.binds ?? {});
  if (binds.length) card.append(facts(binds));
  if (wait.status === "open") card.append(buttons(item, wait, answer));
  else card.append(ending(wait));
  if (wait.trouble) card.append(trouble(wait.trouble));
  return card;
}

function title(wait) {
  return wait.status === "open" ? "Needs your answer" : "Question";
}

function facts(binds) {
  const rows = binds.map(([name, value]) => {
    const shown = typeof value === "string" ? value : JSON.stringify(value);
    return h("div", {}, h("dt", {}, name), h("dd", { class: "mono" }, shown));
  });
  return h("dl", { class: "binds", "aria-label": "The answer holds for" }, ...rows);
}

function buttons(item, wait, answer) {
  const late = wait.trouble?.code === "already_answered";
  const options = (item.options ?? ["approve", "reject"]).filter((option) => Object.hasOwn(WORDS, option));
  const row = h("div", { class: "choices" });
  for (const option of options) {
    const busy = wait.answering === option;
    const button = h("button", {
      class: option === "approve" ? "button main" : "button",
      type: "button",
      disabled: Boolean(wait.answering) || late,
      data: { keep: `${item.wait_id}:${option}` },
    }, busy ? WORDS[option].doing : WORDS[option].button);
    button.addEventListener("click", () => {
      for (const other of row.children) other.disabled = true;
      answer(item.wait_id, option);
    });
    row.append(button);
  }
  return row;
}

function ending(wait) {
  const [symbol, words] = endingWords(wait);
  return h("p", { class: `ending ${wait.answer ?? wait.status}`, tabindex: "-1" }, icon(symbol), words);
}

function endingWords({ status, answer, mine }) {
  if (status === "expired") return ["clock", "Nobody answered in time"];
  if (status === "void") return ["cross", "No longer valid: what it was about has changed"];
  if (status === "cancelled") return ["cross", "Withdrawn"];
  const word = { approved: "Approved", rejected: "Rejected" }[answer] ?? "Answered";
  return [answer === "rejected" ? "cross" : "tick", mine ? `${word} by you` : `${word} by someone else`];
}

function trouble(problem) {
  const words = [problem.detail, problem.hint].filter(Boolean).join(" ");
  return h("p", { class: "ask-trouble", role: "alert" }, h("strong", {}, problem.title || "Not taken."), words ? ` ${words}` : "");
}
