// Times for people. Everything comes in as unix seconds.

const clockFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const exactFormat = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false,
});
const dayFormat = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const yearFormat = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "long", year: "numeric" });
const fullFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const shortFormat = new Intl.DateTimeFormat(undefined, {
  day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hour12: false,
});

const UNITS = Object.freeze([["d", 86400], ["h", 3600], ["min", 60], ["s", 1]]);

export const nowSeconds = () => Date.now() / 1000;
export const clock = (at) => clockFormat.format(at * 1000);
export const clockExact = (at) => exactFormat.format(at * 1000);
export const full = (at) => fullFormat.format(at * 1000);
export const short = (at) => shortFormat.format(at * 1000);

/** A day's key in local time, for grouping. */
export function dayKey(at) {
  const date = new Date(at * 1000);
  return `${date.getFullYear()}-${date.getMonth() + 1}-${date.getDate()}`;
}

/** "Today", "Yesterday" or the date. */
export function dayName(at) {
  if (dayKey(at) === dayKey(nowSeconds())) return "Today";
  if (dayKey(at) === dayKey(nowSeconds() - 86400)) return "Yesterday";
  const sameYear = new Date(at * 1000).getFullYear() === new Date().getFullYear();
  return (sameYear ? dayFormat : yearFormat).format(at * 1000);
}

/** A span in its two largest units: "2 h 5 min". */
export function span(seconds) {
  const words = [];
  let rest = Math.max(0, Math.round(seconds));
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    if (count > 0 && words.length < 2) words.push(`${count} ${unit}`);
    rest -= count * size;
    if (words.length === 1 && (unit === "d" ? rest < 3600 : unit === "h" ? rest < 60 : unit === "min")) break;
  }
  return words.join(" ") || "0 s";
}

/** "just now", "5 min ago", "in 2 h". */
export function relative(at) {
  const gap = at - nowSeconds();
  if (gap > -2 && gap < 1) return "just now";
  return gap < 0 ? `${span(-gap)} ago` : `in ${span(gap)}`;
}
