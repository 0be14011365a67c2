// Keeps the newest message in sight, unless the reader has scrolled up; then counts what is new.

const NEAR_PX = 80;

export class Follow {
  #following = true;
  #unread = 0;

  constructor(room, pill) {
    this.room = room;
    this.pill = pill;
    room.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    pill.addEventListener("click", () => this.stick());
    new ResizeObserver(() => this.#following && this.#toEnd()).observe(room);
  }

  /** Runs a change of the list and then scrolls to the end if the reader was there. */
  around(change) {
    change();
    if (this.#following) this.#toEnd();
    this.#drawPill();
  }

  /** One new thing came, if `isNew`; it is unread while the reader is elsewhere. */
  count(isNew) {
    if (isNew && !this.#following) this.#unread += 1;
  }

  /** Goes to the end and stays there. */
  stick() {
    this.#following = true;
    this.#unread = 0;
    this.#toEnd();
    this.#drawPill();
  }

  #toEnd() {
    this.room.scrollTo({ top: this.room.scrollHeight });
  }

  #scrolled() {
    const gap = this.room.scrollHeight - this.room.scrollTop - this.room.clientHeight;
    this.#following = gap < NEAR_PX;
    if (this.#following) this.#unread = 0;
    this.#drawPill();
  }

  #drawPill() {
    this.pill.hidden = this.#following;
    if (this.#following) return;
    const words = this.#unread === 1 ? "1 new message" : `${this.#unread} new messages`;
    this.pill.textContent = this.#unread ? words : "To the newest";
    this.pill.classList.toggle("main", this.#unread > 0);
  }
}
