// Small things that every view is made of.
import { html, signal, useEffect, useRef, useState } from "./html.js";
import { plain } from "./format.js";

/** A state has a sign and a word as well as a colour. */
export const STATES = {
  waiting: { sign: "◔", word: "waiting", tone: "hold" },
  delayed: { sign: "◷", word: "delayed", tone: "hold" },
  ready: { sign: "○", word: "ready", tone: "warn" },
  offered: { sign: "◌", word: "offered", tone: "info" },
  running: { sign: "▶", word: "running", tone: "info" },
  completed: { sign: "✓", word: "completed", tone: "good" },
  failed: { sign: "✕", word: "failed", tone: "bad" },
  cancelled: { sign: "⊘", word: "cancelled", tone: "mute" },
  skipped: { sign: "↷", word: "skipped", tone: "mute" },
  dead_lettered: { sign: "✝", word: "dead-lettered", tone: "bad" },
  revoked: { sign: "⊘", word: "revoked", tone: "mute" },
};

const WORKER_STATES = {
  idle: { sign: "○", tone: "good" },
  busy: { sign: "▶", tone: "info" },
  overloaded: { sign: "▲", tone: "warn" },
  draining: { sign: "◔", tone: "hold" },
  silent: { sign: "…", tone: "warn" },
  unreachable: { sign: "✕", tone: "bad" },
  left: { sign: "⊘", tone: "mute" },
};

export const ENDED = ["completed", "failed", "cancelled", "skipped", "dead_lettered"];

export function State({ of }) {
  const { sign, word, tone } = STATES[of] || { sign: "?", word: of || "unknown", tone: "mute" };
  return html`<span class="state ${tone}"><span aria-hidden="true">${sign}</span> ${word}</span>`;
}

export function WorkerState({ of }) {
  const { sign, tone } = WORKER_STATES[of] || { sign: "?", tone: "mute" };
  return html`<span class="state ${tone}"><span aria-hidden="true">${sign}</span> ${of}</span>`;
}

export function Failure({ error }) {
  if (!error) return null;
  return html`<p class="failure" role="alert">${plain(error.message || error)}</p>`;
}

/** @param {{title:string, level?:number, aside?:any, children?:any, class?:string}} props */
export function Panel({ title, aside, children, class: name = "" }) {
  return html`<section class="panel ${name}">
    <header><h2>${title}</h2>${aside ? html`<div class="aside">${aside}</div>` : null}</header>
    ${children}
  </section>`;
}

export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

export function Meter({ share, label, tone = "info" }) {
  const percent = Math.round(Math.min(1, Math.max(0, share || 0)) * 100);
  return html`<span class="meter ${tone}" role="img" aria-label=${label || `${percent}%`}>
    <span style=${{ width: `${percent}%` }}></span></span>`;
}

/** Shares of a whole by state, as one bar. @param {{states:Record<string,number>, total:number}} props */
export function StateBar({ states, total }) {
  const parts = Object.keys(STATES).filter((state) => states[state]);
  const words = parts.map((state) => `${states[state]} ${STATES[state].word}`).join(", ");
  return html`<span class="statebar" role="img" aria-label=${words || "nothing"} title=${words}>
    ${parts.map((state) => html`<span class=${STATES[state].tone} style=${{ flexGrow: states[state] / Math.max(1, total) }}></span>`)}
  </span>`;
}

export function Copy({ text, label = "copy" }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(typeof text === "function" ? text() : text);
    setDone(true);
    setTimeout(() => setDone(false), 1200);
  };
  return html`<button class="quiet" onClick=${copy}>${done ? "copied" : label}</button>`;
}

/** What is said once, aloud too. */
export const notice = signal(/** @type {{text:string, tone:string}|null} */ (null));
let noticeTimer = 0;

export function say(text, tone = "good") {
  notice.value = { text: plain(text), tone };
  clearTimeout(noticeTimer);
  noticeTimer = window.setTimeout(() => (notice.value = null), 6000);
}

export const Notice = () => html`<div class="notices" role="status" aria-live="polite">
  ${notice.value ? html`<p class="notice ${notice.value.tone}">${notice.value.text}</p>` : null}
</div>`;

/** Does something, and says how it went. */
export async function attempt(words, act) {
  try {
    const answer = await act();
    say(words);
    return answer;
  } catch (error) {
    say(error.message, "bad");
    return null;
  }
}

export function Dialog({ title, onClose, children }) {
  const element = useRef(null);
  useEffect(() => {
    const before = /** @type {HTMLElement|null} */ (document.activeElement);
    element.current.showModal();
    return () => before?.focus?.();
  }, []);
  return html`<dialog ref=${element} aria-labelledby="dialog-title" onClose=${onClose}
    onClick=${(event) => event.target === element.current && element.current.close()}>
    <header><h2 id="dialog-title">${title}</h2>
      <button class="quiet" onClick=${() => element.current.close()} aria-label="close">✕</button></header>
    ${children}
  </dialog>`;
}

/** A list of facts. @param {{facts: [string, any][]}} props */
export const Facts = ({ facts }) => html`<dl class="facts">
  ${facts.filter(([, value]) => value !== undefined && value !== null && value !== "").map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
</dl>`;

/** A chart, or the same as a table. */
export function Twin({ title, chart, table, aside }) {
  const [asTable, setAsTable] = useState(false);
  const toggle = html`<button class="quiet" aria-pressed=${asTable} onClick=${() => setAsTable(!asTable)}>table</button>`;
  return html`<${Panel} title=${title} aside=${html`${aside}${toggle}`}>
    ${asTable ? html`<div class="scroll" tabindex="0" role="region" aria-label=${`${title}, as a table`}>${table()}</div>` : chart()}
  </${Panel}>`;
}

/** @param {{headings:any[], rows:any[][], caption:string, numeric?:number[]}} props */
export const Table = ({ headings, rows, caption, numeric = [] }) => html`<table>
  <caption class="unseen">${caption}</caption>
  <thead><tr>${headings.map((heading, i) => html`<th scope="col" class=${numeric.includes(i) ? "n" : ""}>${heading}</th>`)}</tr></thead>
  <tbody>${rows.map((row) => html`<tr>${row.map((cell, i) => html`<td class=${numeric.includes(i) ? "n" : ""}>${cell}</td>`)}</tr>`)}</tbody>
</table>`;
