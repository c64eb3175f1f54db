// What workers did when: attempts as they are in the history, page by page, and those that run.
import { ask, query } from "../api.js";
import { Lanes } from "../canvas/lanes.js";
import { clock, count, plain, span } from "../format.js";
import { html, useEffect, useMemo, useState } from "../html.js";
import { again, summary } from "../live.js";
import { Empty, State, Twin } from "../parts.js";
import { address, go } from "../router.js";

/** @type {[string, number][]} */
const SPANS = [["1 min", 60], ["15 min", 900], ["3 h", 10_800], ["24 h", 86_400]];
const ATTEMPTS_MAX = 120_000;
const PAGES_MAX = 40;
const LANES_OF_WORKER_MAX = 512;

/** @param {{worker?:string, height?:number, span?:number}} props */
export function Stream({ worker, height = 340 }) {
  const [seconds, setSeconds] = useState(900);
  const [attempts, setAttempts] = useState(/** @type {any[]|null} */ (null));
  const [follow, setFollow] = useState(true);
  const minute = Math.floor((summary.value?.at || 0) / 3);
  useEffect(() => {
    if (!follow && attempts) return undefined;
    const abort = new AbortController();
    load(worker, seconds, abort.signal).then(setAttempts, () => {});
    return () => abort.abort();
  }, [worker, seconds, follow ? minute : 0, again.value]);
  const { bars, lanes } = useMemo(() => place(attempts || []), [attempts]);
  const aside = html`<span role="group" aria-label="span">${SPANS.map(([words, n]) => html`<button class="quiet" aria-pressed=${n === seconds} onClick=${() => { setAttempts(null); setSeconds(n); }}>${words}</button>`)}</span>
    <button class="quiet" aria-pressed=${follow} onClick=${() => setFollow(!follow)}>live</button>`;
  return html`<${Twin} title=${`Task stream${attempts ? `: ${count(attempts.length)} attempts` : ""}`} aside=${aside}
    chart=${() => (bars.length ? html`<${Lanes} key=${seconds} bars=${bars} lanes=${lanes} height=${height} label="Attempts by worker and time" follow=${follow} onPick=${(job) => go(address(["jobs", job]))} />` : html`<${Empty}>${attempts ? "Nothing ran then." : "Reading…"}</${Empty}>`)}
    table=${() => html`<table><caption class="unseen">Attempts</caption><thead><tr><th scope="col">worker</th><th scope="col">job</th><th scope="col">type</th><th scope="col">state</th><th scope="col">started</th><th scope="col" class="n">ran</th></tr></thead>
      <tbody>${(attempts || []).slice(0, 300).map((one) => html`<tr><td>${plain(one.worker)}</td><td><a href=${address(["jobs", one.job])}>${plain(one.job)}</a></td><td>${plain(one.type)}</td><td><${State} of=${one.state} /></td><td>${clock(one.from, true)}</td><td class="n">${span((one.to - one.from) / 1000)}</td></tr>`)}</tbody></table>`} />`;
}

async function load(worker, seconds, signal) {
  const after = new Date(Date.now() - seconds * 1000).toISOString();
  const found = [];
  let cursor;
  for (let page = 0; page < PAGES_MAX && found.length < ATTEMPTS_MAX; page += 1) {
    const answer = await ask(`/attempts${query({ worker, after, cursor })}`, { signal });
    const now = Date.now();
    answer.job.forEach((job, i) => {
      const from = answer.started[i] || answer.offered[i];
      found.push({ job, from, to: Math.max(from, answer.ended[i] || now), worker: answer.workers[answer.worker[i]], type: answer.types[answer.type[i]], state: answer.state[i] });
    });
    cursor = answer.next_cursor;
    // Jobs are told in the order of their submission: what ended long before this page's did not run since.
    if (!cursor) break;
  }
  return found;
}

/** Each attempt in the first lane of its worker that is free. */
export function place(attempts) {
  const workers = new Map();
  for (const one of attempts) {
    if (!workers.has(one.worker)) workers.set(one.worker, []);
    workers.get(one.worker).push(one);
  }
  const bars = [];
  const lanes = [];
  for (const name of [...workers.keys()].sort()) {
    const mine = workers.get(name).sort((a, b) => a.from - b.from);
    const free = [];
    const first = lanes.length;
    for (const one of mine) {
      let lane = free.findIndex((until) => until <= one.from);
      if (lane < 0) lane = Math.min(free.length, LANES_OF_WORKER_MAX);
      free[lane] = one.to;
      bars.push({ lane: first + lane, from: one.from, to: one.to, state: one.state, label: `${one.job} (${one.type}) on ${name}`, id: one.job });
    }
    free.forEach(() => lanes.push(name));
  }
  return { bars, lanes };
}
