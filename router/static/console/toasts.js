// Short words about what an action did. Good news goes by itself, trouble stays until it is dismissed.

import { h, icon } from "../dom.js";

const SHOWN_MS = 5000;
const TOASTS_MAX = 4;

export class Toasts {
  constructor(place) {
    this.place = place;
  }

  done(words) {
    const toast = this.#add("done", icon("tick"), h("p", {}, words));
    setTimeout(() => toast.remove(), SHOWN_MS);
  }

  /** Shows a problem: `{title, detail, hint}`. */
  problem(problem) {
    const more = [problem.detail, problem.hint].filter(Boolean).join(" ");
    const title = problem.title || problem.message || "It did not work.";
    this.#add("bad", icon("alert"), h("p", {}, h("strong", {}, title), more ? ` ${more}` : ""));
  }

  #add(tone, symbol, words) {
    const dismiss = h("button", { class: "button quiet small", type: "button", "aria-label": "Dismiss" }, icon("cross"));
    const toast = h("div", { class: `toast ${tone}`, role: tone === "bad" ? "alert" : null }, symbol, words, dismiss);
    dismiss.addEventListener("click", () => toast.remove());
    this.place.append(toast);
    while (this.place.children.length > TOASTS_MAX) this.place.firstChild.remove();
    return toast;
  }
}
