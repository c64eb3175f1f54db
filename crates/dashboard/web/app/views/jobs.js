// The list of jobs. Its filter is its address; what is done to "all that match" is done by the scheduler.
import { Problem, ask, may, post, query as text } from "../api.js";
import { ago, between, count, millis, plain, span } from "../format.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../html.js";
import { useKeys } from "../keys.js";
import { again, summary, useAsk } from "../live.js";
import { Dialog, ENDED, Empty, Failure, Meter, STATES, State, attempt } from "../parts.js";
import { address, go } from "../router.js";
import { First } from "./first.js";

const PAGE = 100;
const ROW = 28;
const FIELDS = { type: "type", tag: "tag", run: "run", worker: "worker", id_prefix: "id starts with", submitted_after: "submitted after", submitted_before: "submitted before" };

/** What is kept of a row, so that thousands weigh little. */
const slim = (job) => ({
  id: job.id, number: job.number, type: job.type, state: job.state, priority: job.priority,
  at: millis(job.submitted_at), took: job.ended_at && job.started_at ? between(job.started_at, job.ended_at) : undefined,
  why: job.ended_at && job.explanation ? job.explanation.slice(0, 160) : "", failures: job.failures,
});

/** The whole list, page after page, of which the first is looked at again and again. */
function usePages(filter) {
  const [rows, setRows] = useState(/** @type {any[]|null} */ (null));
  const [error, setError] = useState(null);
  const next = useRef(/** @type {string|null} */ (null));
  const busy = useRef(false);
  const abort = useRef(new AbortController());
  const load = async (cursor) => {
    if (busy.current) return;
    busy.current = true;
    const mine = abort.current;
    try {
      const page = await ask(`/jobs${text({ ...filter, limit: PAGE, cursor })}`, { signal: mine.signal });
      if (mine.signal.aborted) return;
      next.current = page.next_cursor || null;
      setRows((old) => (cursor && old ? old.concat(page.jobs.map(slim)) : page.jobs.map(slim)));
      setError(null);
    } catch (why) {
      if (!mine.signal.aborted) setError(why);
    } finally {
      if (mine === abort.current) busy.current = false;
    }
  };
  useEffect(() => {
    abort.current.abort();
    abort.current = new AbortController();
    busy.current = false;
    setRows(null);
    load(null);
    return () => abort.current.abort();
  }, [JSON.stringify(filter), again.value]);
  return { rows, error, reload: () => load(null), more: () => next.current && load(next.current), all: () => !next.current };
}

export function Jobs({ query }) {
  const filter = Object.fromEntries(Object.entries(query).filter(([key]) => key === "state" || key in FIELDS));
  const { rows, error, reload, more } = usePages(filter);
  const [top, setTop] = useState(0);
  const [chosen, setChosen] = useState(0);
  const [bulk, setBulk] = useState(/** @type {string|null} */ (null));
  const box = useRef(null);
  const empty = Object.keys(filter).length === 0;
  const counted = useAsk(empty ? null : `/job-count${text(filter)}`, { every: 4000 });
  const set = (key, value) => go(address(["jobs"], { ...filter, [key]: value }), true);
  const position = summary.value?.position;
  const seen = useRef({ at: 0, position });
  // Somebody who has scrolled away reads; the list moves only for those at its top.
  useEffect(() => {
    if (!rows || top > ROW || rows.length > PAGE || document.hidden || seen.current.position === position) return;
    if (performance.now() - seen.current.at < 1500) return;
    seen.current = { at: performance.now(), position };
    reload();
  }, [position, summary.value?.at]);
  useEffect(() => {
    setChosen(0);
    box.current?.scrollTo(0, 0);
  }, [JSON.stringify(filter)]);
  const height = box.current?.clientHeight || 700;
  const first = Math.max(0, Math.floor(top / ROW) - 10);
  const last = Math.min(rows?.length || 0, Math.ceil((top + height) / ROW) + 10);
  const move = (by) => {
    const to = Math.max(0, Math.min((rows?.length || 1) - 1, chosen + by));
    setChosen(to);
    const y = to * ROW;
    if (y < top + ROW) box.current.scrollTop = Math.max(0, y - ROW);
    else if (y > top + height - 3 * ROW) box.current.scrollTop = y - height + 3 * ROW;
    if (rows && to > rows.length - 20) more();
  };
  const open = () => rows?.[chosen] && go(address(["jobs", rows[chosen].id]));
  useKeys([
    { keys: "j ArrowDown", words: "next job", act: () => move(1) },
    { keys: "k ArrowUp", words: "job before", act: () => move(-1) },
    { keys: "Enter o", words: "open the job", act: open },
    { keys: "f", words: "only failed jobs", act: () => set("state", filter.state === "failed,dead_lettered" ? undefined : "failed,dead_lettered") },
    { keys: "R", words: "retry all that match", act: () => may("operator") && !empty && setBulk("retry") },
    { keys: "C", words: "cancel all that match", act: () => may("operator") && !empty && setBulk("cancel") },
  ], [rows, chosen, top, JSON.stringify(filter)]);
  useLayoutEffect(() => {
    if (rows && last > rows.length - 30) more();
  }, [last, rows]);
  const known = summary.value?.jobs;
  const total = known ? Object.values(known).reduce((sum, n) => sum + n, 0) : undefined;
  const matching = empty ? count(total) : counted.data ? `${count(counted.data.jobs)}${counted.data.more ? "+" : ""}` : "…";
  return html`
    <div class="top"><h1>Jobs</h1><span class="mute" aria-live="polite">${matching} match</span><span class="grow"></span>
      ${may("operator") ? html`<button disabled=${empty} onClick=${() => setBulk("retry")}>Retry all that match…</button>
        <button class="danger" disabled=${empty} onClick=${() => setBulk("cancel")}>Cancel all that match…</button>` : null}</div>
    <${Filters} filter=${filter} set=${set} known=${known} />
    <${Failure} error=${error} />
    ${rows && !rows.length ? (empty ? html`<${First} />` : html`<${Empty}>No job matches. <a href=${address(["jobs"])}>Show all</a></${Empty}>`) : null}
    ${rows?.length ? html`<div class="panel"><div class="viewport" ref=${box} tabindex="0" role="region" aria-label="Jobs" onScroll=${(event) => setTop(event.currentTarget.scrollTop)}>
      <table class="jobs"><caption class="unseen">Jobs, newest first</caption>
        <colgroup><col width="140" /><col /><col width="150" class="least" /><col width="110" /><col width="90" class="least" /><col width="30%" class="least" /></colgroup>
        <thead><tr><th scope="col">state</th><th scope="col">job</th><th scope="col" class="least">type</th><th scope="col">submitted</th><th scope="col" class="n least">ran</th><th scope="col" class="least">why</th></tr></thead>
        <tbody>
          ${first ? html`<tr class="pad" aria-hidden="true"><td colspan="6" style=${{ height: `${first * ROW}px` }}></td></tr>` : null}
          ${rows.slice(first, last).map((job, i) => html`<tr key=${job.number} class=${first + i === chosen ? "chosen" : ""} aria-selected=${first + i === chosen ? "true" : null}>
            <td><${State} of=${job.state} /></td>
            <td><a href=${address(["jobs", job.id])} title=${plain(job.id)}>${plain(job.id)}</a></td>
            <td class="least">${plain(job.type)}</td><td>${ago(job.at)}</td><td class="n least">${span(job.took)}</td><td class="least mute">${plain(job.why)}</td></tr>`)}
          ${last < rows.length ? html`<tr class="pad" aria-hidden="true"><td colspan="6" style=${{ height: `${(rows.length - last) * ROW}px` }}></td></tr>` : null}
        </tbody></table></div></div>` : null}
    ${bulk ? html`<${Bulk} action=${bulk} filter=${filter} onClose=${() => setBulk(null)} />` : null}`;
}

function Filters({ filter, set, known }) {
  const [typed, setTyped] = useState("");
  const states = filter.state ? filter.state.split(",") : [];
  const toggle = (state) => {
    const next = states.includes(state) ? states.filter((other) => other !== state) : [...states, state];
    set("state", next.join(","));
  };
  // `type:resize`, `worker:w1`, `run:nightly-1`, `tag:x`; anything else is the start of an id.
  const submit = (event) => {
    event.preventDefault();
    const words = typed.trim();
    if (!words) return;
    const [key, ...rest] = words.split(":");
    if (key === "state" && rest.length) set("state", rest.join(":"));
    else if (key in FIELDS && rest.length) set(key, rest.join(":"));
    else set("id_prefix", words);
    setTyped("");
  };
  return html`<div class="chips" style=${{ marginBottom: "8px" }}>
      <form onSubmit=${submit}><label class="unseen" for="search">Filter jobs by the start of their id, or by type:, worker:, run: or tag:</label>
        <input id="search" type="search" size="34" placeholder="id…  or type: worker: run: tag:" value=${typed} onInput=${(event) => setTyped(event.target.value)} autocomplete="off" spellcheck=${false} /></form>
      ${Object.entries(FIELDS).filter(([key]) => filter[key]).map(([key, words]) => html`<span class="chip">${words} <b>${plain(filter[key])}</b><button aria-label=${`remove the filter ${words}`} onClick=${() => set(key, undefined)}>✕</button></span>`)}
    </div>
    <div class="chips" style=${{ marginBottom: "12px" }} role="group" aria-label="states">
      ${Object.keys(STATES).filter((state) => state !== "revoked").map((state) => html`<button class="toggle ${STATES[state].tone}" aria-pressed=${states.includes(state)} onClick=${() => toggle(state)}>${STATES[state].word}${known?.[state] ? ` ${count(known[state])}` : ""}</button>`)}
    </div>`;
}

const CONCERNED = { retry: ["failed", "cancelled", "dead_lettered"], cancel: Object.keys(STATES).filter((state) => !ENDED.includes(state) && state !== "revoked") };

/** First how many, then how far. */
function Bulk({ action, filter, onClose }) {
  const wanted = filter.state ? filter : { ...filter, state: CONCERNED[action].join(",") };
  const { data } = useAsk(`/job-count${text(wanted)}`, { live: false });
  const [operation, setOperation] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(null);
  const start = async () => {
    try {
      setOperation(await post("/operations", { action, filter, ...(action === "cancel" ? { reason: "cancelled in the dashboard" } : {}) }));
    } catch (why) {
      setError(why instanceof Problem ? why : new Error(String(why)));
    }
  };
  useEffect(() => {
    if (!operation || operation.ended_at) return undefined;
    const timer = setTimeout(async () => setOperation(await ask(`/operations/${operation.id}`)), 300);
    return () => clearTimeout(timer);
  }, [operation]);
  const words = Object.entries(filter).map(([key, value]) => `${FIELDS[key] || key} ${plain(value)}`).join(", ");
  return html`<${Dialog} title=${`${action === "retry" ? "Retry" : "Cancel"} all that match`} onClose=${onClose}>
    <p>${words}</p>
    ${operation ? html`<p role="status"><${Meter} share=${operation.total ? (operation.done + operation.refused) / operation.total : 0} /> ${count(operation.done)} of ${count(operation.total)} done${operation.refused ? `, ${count(operation.refused)} refused` : ""}${operation.ended_at ? "." : "…"}</p>
      ${operation.failure ? html`<${Failure} error=${operation.failure} />` : null}` :
    html`<p>${data ? html`This concerns <b>${count(data.jobs)}${data.more ? " or more" : ""}</b> jobs. Nothing was done yet.` : "Counting…"}</p>`}
    <${Failure} error=${error} />
    <div class="acts"><button onClick=${(event) => event.target.closest("dialog").close()}>${operation ? "Close" : "Leave it"}</button>
      ${operation ? null : html`<button class=${action === "cancel" ? "danger" : "main"} disabled=${!data?.jobs} onClick=${start}>${action === "retry" ? "Retry" : "Cancel"} them</button>`}</div>
  </${Dialog}>`;
}
