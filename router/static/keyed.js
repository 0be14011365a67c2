// A list of keyed rows that changes only what changed, so that focus, selection and open details survive a refresh.

export class KeyedList {
  /** `parent` must be left to this list alone. */
  constructor(parent) {
    this.parent = parent;
    this.rows = new Map();
  }

  /** Shows `entries`: `{key, stamp, make(), update?(node)}`. A row with the same stamp is left as it is; `update`
   * may adapt the old node and return true, else the row is made anew. */
  show(entries) {
    const next = new Map();
    for (const entry of entries) next.set(entry.key, this.#row(entry));
    for (const [key, row] of this.rows) {
      if (next.get(key)?.node !== row.node) row.node.remove();
    }
    let expected = this.parent.firstChild;
    for (const { node } of next.values()) {
      if (node === expected) expected = expected.nextSibling;
      else this.parent.insertBefore(node, expected);
    }
    this.rows = next;
  }

  #row(entry) {
    const old = this.rows.get(entry.key);
    if (old && old.stamp === entry.stamp) return old;
    if (old && entry.update && entry.update(old.node)) return { stamp: entry.stamp, node: old.node };
    const node = entry.make();
    if (old) {
      carryOpen(old.node, node);
      carryFocus(old.node, node);
    }
    return { stamp: entry.stamp, node };
  }
}

function carryOpen(from, to) {
  for (const details of from.querySelectorAll("details[open][data-keep]")) {
    const twin = to.querySelector(`details[data-keep="${CSS.escape(details.dataset.keep)}"]`);
    if (twin) twin.open = true;
  }
  for (const field of from.querySelectorAll("input[data-keep]")) {
    const twin = to.querySelector(`input[data-keep="${CSS.escape(field.dataset.keep)}"]`);
    if (twin) twin.value = field.value;
  }
}

function carryFocus(from, to) {
  const focused = document.activeElement;
  if (!focused || !from.contains(focused)) return;
  const keep = focused.dataset.keep;
  const twin = keep ? to.querySelector(`[data-keep="${CSS.escape(keep)}"]`) : null;
  queueMicrotask(() => (twin || focusable(to))?.focus({ preventScroll: true }));
}

function focusable(node) {
  return node.querySelector("button:not(:disabled), a[href], [tabindex]");
}
