// The message field: grows with its text, counts near the limit, keeps a draft over reloads.

import { icon } from "../dom.js";

const LENGTH_MAX = 16_000;
const COUNT_FROM = 14_000;
const DRAFT = "turnline.chat.draft";

const number = new Intl.NumberFormat("en");

export class Composer {
  /** `say(text)` takes a message and returns whether it was taken. */
  constructor(page, say) {
    this.say = say;
    this.text = page.getElementById("text");
    this.button = page.getElementById("send");
    this.count = page.getElementById("count");
    this.button.append(icon("send"));
    page.getElementById("composer").addEventListener("submit", (event) => this.#submit(event));
    this.text.addEventListener("keydown", (event) => this.#key(event));
    this.text.addEventListener("input", () => this.#changed());
    for (const opener of page.querySelectorAll("[data-opener]")) {
      opener.addEventListener("click", () => this.#insert(opener.dataset.opener));
    }
    this.text.value = sessionStorage.getItem(DRAFT) ?? "";
    this.#changed();
  }

  /** Puts the caret into the field, except where that would open a keyboard on a touch screen. */
  focus() {
    if (!matchMedia("(pointer: coarse)").matches) this.text.focus();
  }

  #insert(text) {
    this.text.value = text;
    this.#changed();
    this.text.focus();
  }

  #key(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    this.#submit(event);
  }

  #submit(event) {
    event.preventDefault();
    const text = this.text.value.trim();
    if (!text || lengthOf(text) > LENGTH_MAX || !this.say(text)) return;
    this.text.value = "";
    this.#changed();
    this.text.focus();
  }

  #changed() {
    const text = this.text.value.trim();
    const length = lengthOf(text);
    const over = length > LENGTH_MAX;
    this.button.disabled = !text || over;
    this.text.setAttribute("aria-invalid", String(over));
    this.count.hidden = length < COUNT_FROM;
    this.count.classList.toggle("over", over);
    this.count.textContent = over
      ? `${number.format(length - LENGTH_MAX)} over the limit of ${number.format(LENGTH_MAX)}`
      : `${number.format(length)} of ${number.format(LENGTH_MAX)}`;
    sessionStorage.setItem(DRAFT, this.text.value);
    this.#grow();
  }

  #grow() {
    this.text.style.height = "auto";
    this.text.style.height = `${this.text.scrollHeight}px`;
  }
}

/** Code points, as the server counts; the exact count is only worth its cost near the limit. */
function lengthOf(text) {
  return text.length < COUNT_FROM ? text.length : [...text].length;
}
