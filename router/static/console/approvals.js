// Questions that wait for a person.

import { KeyedList } from "../keyed.js";
import { h } from "../dom.js";
import { choice, emptyState, page } from "./page.js";
import { keyLink, pairs, state, when } from "./words.js";

export function approvalsView({ api, toasts, refresh }) {
  const filter = choice("Status", [["open", "Open"], ["answered", "Answered"], ["expired", "Expired"], ["void", "Void"]], () => refresh());
  const cards = h("ul", { class: "cards" });
  const list = new KeyedList(cards);
  const nothing = emptyState({ title: "Nobody is waiting", text: "When an agent asks before it acts, its question appears here and in the session's own channel." });
  nothing.hidden = true;
  const { node, trouble } = page("Approvals", { about: "The first answer wins, wherever it is given." }, filter.node, cards, nothing);

  async function load(signal) {
    const { approvals } = await api.get("/v1/approvals", { status: filter.value }, signal);
    nothing.hidden = approvals.length > 0;
    list.show(approvals.map((approval) => ({
      key: approval.id,
      stamp: JSON.stringify(approval),
      make: () => card(approval, { api, toasts, refresh }),
    })));
  }
  return { title: "Approvals", node, trouble, load };
}

function card(approval, context) {
  const open = approval.status === "open";
  const binds = approval.binds ?? {};
  return h(
    "li",
    { class: open ? "card open" : "card" },
    h("div", { class: "card-head" }, state(approval.answer || approval.status), h("span", { class: "small" }, "asked ", when(approval.asked_at))),
    h("h2", { class: "question" }, approval.question),
    h("p", { class: "card-from" }, `${approval.agent} in `, keyLink(approval.session_key)),
    Object.keys(binds).length ? pairs(binds, "The answer holds for") : null,
    open && approval.expires_at ? h("p", { class: "small" }, "Time to answer ends ", when(approval.expires_at)) : null,
    open ? answerForm(approval.id, context) : ending(approval),
  );
}

function ending({ answer, answered_by: by, status }) {
  const words = answer ? `${answer[0].toUpperCase()}${answer.slice(1)}` : status;
  return h("p", { class: "small" }, by ? `${words} by ${by}` : words);
}

/** Approve and Reject for one wait, with a note; the first press disables both. */
export function answerForm(id, { api, toasts, refresh }, withNote = true) {
  const note = h("input", { class: "field", type: "text", maxlength: "1000", placeholder: "Note (optional)", "aria-label": "Note", data: { keep: `${id} note` } });
  const approve = h("button", { class: "button main", type: "button", data: { keep: `${id} approve` } }, "Approve");
  const reject = h("button", { class: "button", type: "button", data: { keep: `${id} reject` } }, "Reject");
  const disable = (off) => [approve, reject, note].forEach((control) => (control.disabled = off));

  async function decide(decision) {
    disable(true);
    try {
      await api.post(`/v1/approvals/${encodeURIComponent(id)}`, { decision, note: note.value });
      toasts.done(decision === "approve" ? "Approved." : "Rejected.");
    } catch (problem) {
      toasts.problem(problem);
      if (problem.status !== 409) disable(false);
    }
    refresh();
  }
  approve.addEventListener("click", () => decide("approve"));
  reject.addEventListener("click", () => decide("reject"));
  return h("div", { class: "answer" }, withNote ? note : null, approve, reject);
}
