// Figures and texts as people read them.

const COUNT = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** @param {number|undefined} n */
export const count = (n) => (n === undefined || n === null ? "–" : COUNT.format(n));

/** @param {number} n */
export const compact = (n) => (Math.abs(n) < 10_000 ? COUNT.format(n) : COMPACT.format(n));

/** A span in seconds. @param {number|undefined|null} s */
export function span(s) {
  if (s === undefined || s === null || !Number.isFinite(s)) return "–";
  if (s < 0) return `-${span(-s)}`;
  if (s < 0.0005) return `${Math.round(s * 1e6)} µs`;
  if (s < 0.01) return `${(s * 1e3).toFixed(1)} ms`;
  if (s < 1) return `${Math.round(s * 1e3)} ms`;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.round(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m ${pad(Math.round(s % 60) % 60)} s`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${pad(Math.floor((s % 3600) / 60))} m`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
}

const pad = (n) => String(n).padStart(2, "0");

/** Milliseconds of a moment as the server writes it. @param {string|undefined} text */
export const millis = (text) => (text ? Date.parse(text) : 0);

/** Seconds between two moments. */
export const between = (from, to) => (from && to ? (millis(to) - millis(from)) / 1000 : undefined);

/** @param {string|number|undefined} at @param {number} now */
export function ago(at, now = Date.now()) {
  const then = typeof at === "number" ? at : millis(at);
  if (!then) return "–";
  const s = Math.max(0, (now - then) / 1000);
  return s < 1 ? "now" : `${span(s)} ago`;
}

/** The time of day; with the date if it was another day. @param {string|number|undefined} at */
export function clock(at, withMillis = false) {
  const then = typeof at === "number" ? at : millis(at);
  if (!then) return "–";
  const date = new Date(then);
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  const fraction = withMillis ? `.${String(date.getMilliseconds()).padStart(3, "0")}` : "";
  const today = new Date().toDateString() === date.toDateString();
  return today ? time + fraction : `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${time}${fraction}`;
}

// Characters that change how what follows is shown, or show as nothing: they are named instead.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** A text of somebody else's, on one line. @param {unknown} text */
export function plain(text) {
  return String(text ?? "").replace(HIDDEN, named);
}

function named(c) {
  const code = c.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : `\\u{${code.toString(16)}}`;
}

const COLOURS = /\u001b\[[0-9;]*m/g;

/** What a job printed: lines and tabs stay, colours of terminals go. @param {string} text */
export function printed(text) {
  return text.replace(COLOURS, "").replace(/\r\n/g, "\n").replace(HIDDEN, (c) => (c === "\n" || c === "\t" ? c : named(c)));
}

/** JSON for people. @param {unknown} value */
export const json = (value) => printed(JSON.stringify(value, null, 2) ?? "");

/** @param {number} n @param {string} word */
export const counted = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
