// How the fleet does, and what needs somebody.
import { may } from "../api.js";
import { Lines, seconds } from "../chart.js";
import { clock, compact, count, counted, plain, span } from "../format.js";
import { html, useState } from "../html.js";
import { connection, recent, summary, useAsk } from "../live.js";
import { Empty, Meter, Panel, STATES, Table, Twin } from "../parts.js";
import { address } from "../router.js";
import { First } from "./first.js";

const REASONS = {
  dependencies: "other jobs", delay: "their time", backoff: "the next try", paused: "a paused type",
  no_workers: "any worker", no_receiver: "one worker that is not there", missing_type: "a worker for their type",
};

export function Overview() {
  const status = summary.value;
  const [span24, setSpan] = useState(false);
  const day = useAsk(span24 ? "/series?span=24h" : null, { every: 60_000 });
  if (!status) return html`<div class="top"><h1>Overview</h1></div><${Empty}>${connection.value === "lost" ? "The scheduler does not answer." : "Listening…"}</${Empty}>`;
  const jobs = status.jobs || {};
  const total = Object.values(jobs).reduce((sum, n) => sum + n, 0);
  const series = span24 ? day.data : recent.value;
  const spans = html`<span role="group" aria-label="span of the charts">
    <button class="quiet" aria-pressed=${!span24} onClick=${() => setSpan(false)}>15 min</button>
    <button class="quiet" aria-pressed=${span24} onClick=${() => setSpan(true)}>24 h</button></span>`;
  return html`
    <div class="top"><h1>Overview</h1><span class="mute">version ${status.version}, up ${span((Date.now() - Date.parse(status.started_at)) / 1000)}</span><span class="grow"></span>${spans}</div>
    ${total === 0 ? html`<${First} />` : null}
    <${Figures} status=${status} jobs=${jobs} />
    <div class="grid">
      <div class="w8"><${Rates} series=${series} /></div>
      <div class="w4"><${Attention} status=${status} jobs=${jobs} /></div>
      <div class="w6"><${Latency} series=${series} /></div>
      <div class="w6"><${Queue} series=${series} /></div>
      <div class="w6"><${Reasons} status=${status} jobs=${jobs} /></div>
      <div class="w6"><${Quality} series=${series} status=${status} /></div>
    </div>`;
}

function Figures({ status, jobs }) {
  const { rates } = status;
  const live = (jobs.offered || 0) + (jobs.running || 0);
  const figure = (value, words, to) => html`<a class="figure" href=${to}><b>${value}</b><span>${words}</span></a>`;
  const to = (state) => address(["jobs"], { state });
  return html`<div class="figures">
    ${figure(compact(rates.completed), "completed / s", to("completed"))}
    ${figure(compact(live), "running", to("running,offered"))}
    ${figure(compact(jobs.ready || 0), "ready", to("ready"))}
    ${figure(compact((jobs.waiting || 0) + (jobs.delayed || 0)), "waiting or delayed", to("waiting,delayed"))}
    ${figure(compact((jobs.failed || 0) + (jobs.dead_lettered || 0)), "failed or dead", to("failed,dead_lettered"))}
    ${figure(rates.wait_p99 === undefined ? "–" : span(rates.wait_p99), "wait, p99", address(["decisions"]))}
    ${figure(html`${count(status.slots_used)}<small class="mute"> / ${count(status.slots)}</small>`, `slots of ${counted(status.workers, "worker")}`, address(["workers"]))}
  </div>`;
}

const rows = (series, keys, show) => {
  const last = series.at.length;
  return series.at.slice(-60).map((at, i) => [clock(at * 1000), ...keys.map((key) => show(series[key][Math.max(0, last - 60) + i]))]).reverse();
};

function Chart({ title, series, lines, unit, label, log }) {
  if (!series?.at.length) return html`<${Panel} title=${title}><${Empty}>Nothing was measured yet.</${Empty}></${Panel}>`;
  const drawn = lines.map(([name, key, tone, fill]) => ({ name, tone, fill, values: series[key] }));
  const show = (n) => (n === null || n === undefined ? "–" : unit(n));
  return html`<${Twin} title=${title}
    chart=${() => html`<${Lines} at=${series.at} lines=${drawn} unit=${unit} label=${label} log=${log} />`}
    table=${() => html`<${Table} caption=${label} numeric=${lines.map((_, i) => i + 1)} headings=${["time", ...lines.map(([name]) => name)]} rows=${rows(series, lines.map(([, key]) => key), show)} />`} />`;
}

const Rates = ({ series }) => html`<${Chart} title=${`Jobs per ${series?.step === 60 ? "minute" : "second"}`} label="Jobs submitted, completed and failed" unit=${compact} series=${series}
  lines=${[["completed", "completed", "good", true], ["submitted", "submitted", "info"], ["failed", "failed", "bad"], ["retried", "retried", "warn"]]} />`;

const Latency = ({ series }) => html`<${Chart} title="Latency" label="Time until a job is placed, and until it has ended" unit=${seconds} series=${series} log=${false}
  lines=${[["placed p50", "wait_p50", "info"], ["placed p99", "wait_p99", "hold"], ["ended p50", "whole_p50", "good"], ["ended p99", "whole_p99", "warn"]]} />`;

const Queue = ({ series }) => html`<${Chart} title="Jobs that have not ended" label="Jobs by state" unit=${compact} series=${series}
  lines=${[["ready", "ready", "warn", true], ["with a worker", "running", "info"], ["waiting", "waiting", "hold"], ["delayed", "delayed", "mute"]]} />`;

function Quality({ series, status }) {
  if (!series?.at.length) return html`<${Panel} title="Predictions"><${Empty}>Nothing was predicted yet.</${Empty}></${Panel}>`;
  const share = series.predictions.map((n, i) => (n ? series.near[i] / n : null));
  const percent = (n) => `${Math.round(n * 100)}%`;
  const tested = series.predictions.reduce((sum, n) => sum + n, 0);
  const near = series.near.reduce((sum, n) => sum + n, 0);
  const title = `Predictions within 25%${tested ? `: ${percent(near / tested)} of ${count(tested)}` : ""}`;
  return html`<${Twin} title=${title} aside=${html`<span>breaker ${status.breaker}</span>`}
    chart=${() => html`<${Lines} at=${series.at} unit=${percent} label="Share of predictions within a quarter of what it took" lines=${[{ name: "within 25%", tone: "good", values: share, fill: true }]} />`}
    table=${() => html`<${Table} caption="Predictions" numeric=${[1, 2]} headings=${["time", "tested", "within 25%"]} rows=${rows(series, ["predictions", "near"], count)} />`} />`;
}

function Attention({ status, jobs }) {
  const list = [];
  const add = (tone, words, to) => list.push({ tone, words, to });
  if (status.read_only || status.explanation) add("bad", plain(status.explanation || "New work is refused."), address(["system"]));
  if (jobs.dead_lettered) add("bad", `${counted(jobs.dead_lettered, "dead letter")}`, address(["jobs"], { state: "dead_lettered" }));
  if (status.stranded) add("bad", `${counted(status.stranded, "job")} that no worker here can run`, address(["jobs"], { state: "ready" }));
  if (jobs.failed) add("warn", `${counted(jobs.failed, "failed job")}`, address(["jobs"], { state: "failed" }));
  if (status.breaker && status.breaker !== "closed") add("bad", `The predictor's breaker is ${status.breaker}: round-robin decides.`, address(["decisions"]));
  const drifts = (recent.value?.drifts || []).reduce((sum, n) => sum + n, 0);
  if (drifts) add("warn", `Predictions drifted ${count(drifts)} times within 15 minutes.`, address(["decisions"]));
  for (const [state, n] of Object.entries(status.worker_states || {})) {
    if (["unreachable", "silent", "overloaded"].includes(state)) add("warn", `${counted(n, "worker")} ${state}`, address(["workers"]));
  }
  for (const type of status.paused_types) add("hold", `The type ${plain(type)} is paused.`, address(["system"]));
  if (status.history_lag > 200_000) add("warn", `The history is ${compact(status.history_lag)} events behind.`, address(["system"]));
  for (const queue of status.queues) add("warn", `Queue ${plain(queue.name)}: ${counted(queue.failures, "failure")}, ${compact(queue.events_lag)} events behind`, address(["system"]));
  if (status.filled_percent >= 50) add("warn", `The queue is ${status.filled_percent}% full.`, address(["jobs"]));
  return html`<${Panel} title="Needs attention">
    ${list.length ? html`<ul class="attention">${list.map(({ tone, words, to }) => html`<li><a class=${tone} href=${to}><span aria-hidden="true">${tone === "bad" ? "✕" : tone === "warn" ? "▲" : "◔"}</span> ${words}</a></li>`)}</ul>` : html`<${Empty}>Nothing.</${Empty}>`}
  </${Panel}>`;
}

function Reasons({ status, jobs }) {
  const states = Object.keys(STATES).filter((state) => jobs[state]);
  const most = Math.max(1, ...states.map((state) => jobs[state]));
  return html`<${Panel} title="Jobs by state, and what the ready ones wait for">
    <table><caption class="unseen">Jobs by state</caption><tbody>
      ${states.map((state) => html`<tr key=${state}><th scope="row"><a href=${address(["jobs"], { state })}>${STATES[state].word}</a></th><td class="n">${count(jobs[state])}</td><td><${Meter} share=${jobs[state] / most} tone=${STATES[state].tone} label=${`${STATES[state].word}: ${jobs[state]}`} /></td></tr>`)}
    </tbody></table>
    ${status.reasons.length ? html`<table><caption class="unseen">What ready jobs wait for</caption><tbody>${status.reasons.map((kept) => html`<tr><td class="n">${count(kept.jobs)}</td><td>${REASONS[kept.reason] ? `wait for ${REASONS[kept.reason]}: ` : ""}<a href=${address(["jobs", kept.job])}>${plain(kept.words)}</a></td></tr>`)}</tbody></table>` : null}
    ${states.length ? null : html`<${Empty}>There are no jobs${may("submitter") ? " yet" : ""}.</${Empty}>`}
  </${Panel}>`;
}
