// Troubles that belong to no single message.

import { h, icon } from "../dom.js";

export class Alerts {
  constructor(place) {
    this.place = place;
  }

  /** Shows a problem `{title, detail?, hint?}` until it is dismissed or the next one comes. */
  show(problem) {
    const dismiss = h("button", { class: "button quiet small", type: "button", "aria-label": "Dismiss" }, icon("cross"));
    dismiss.addEventListener("click", () => this.clear());
    const words = [problem.detail, problem.hint].filter(Boolean).join(" ");
    const text = h("p", {}, h("strong", {}, problem.title || "Something went wrong."), words ? ` ${words}` : "");
    this.place.replaceChildren(h("div", { class: "alert" }, icon("alert"), text, dismiss));
  }

  clear() {
    this.place.replaceChildren();
  }
}
