// One job: where it is and why, what was tried, what it printed.
import { ask, may, part, post } from "../api.js";
import { ago, between, clock, json, millis, plain, span } from "../format.js";
import { html, useEffect, useState } from "../html.js";
import { useKeys } from "../keys.js";
import { useAsk } from "../live.js";
import { Copy, Dialog, ENDED, Empty, Facts, Failure, Panel, STATES, State, attempt } from "../parts.js";
import { address, go } from "../router.js";
import { Decision } from "./decision.js";
import { Logs } from "./logs.js";

export function Job({ id }) {
  const path = `/jobs/${part(id)}`;
  const { data: job, error, reload } = useAsk(path, { every: 1000 });
  const { data: why } = useAsk(`${path}/explain`, { every: 1500 });
  const [dialog, setDialog] = useState(/** @type {string|null} */ (null));
  const ended = job && ENDED.includes(job.state);
  const act = async (words, does) => {
    await attempt(words, does);
    reload();
  };
  const cancel = () => act("cancelled", () => post(`${path}/cancel`, { reason: "cancelled in the dashboard" }));
  const retry = () => act("it is tried again", () => post(`${path}/retry`));
  const steers = may("operator") || may("submitter");
  useKeys([
    { keys: "c", words: "cancel the job", act: () => steers && job && !ended && setDialog("cancel") },
    { keys: "r", words: "retry the job", act: () => steers && ended && job.state !== "completed" && retry() },
    { keys: "p", words: "pin it to a worker", act: () => may("operator") && job && !ended && setDialog("pin") },
    { keys: "e", words: "edit and submit again", act: () => may("submitter") && job && setDialog("edit") },
    { keys: "u", words: "back to the jobs", act: () => history.back() },
  ], [job, ended]);
  if (!job) return html`<div class="top"><h1>${plain(id)}</h1></div><${Failure} error=${error} />`;
  return html`
    <div class="top"><${State} of=${job.state} /><h1>${plain(job.id)}</h1><${Copy} text=${job.id} label="copy id" /><span class="grow"></span>
      ${steers && !ended ? html`<button class="danger" onClick=${() => setDialog("cancel")}>Cancel <kbd>c</kbd></button>` : null}
      ${may("operator") && !ended ? html`<button onClick=${() => setDialog("pin")}>Pin… <kbd>p</kbd></button>` : null}
      ${may("submitter") ? html`<button onClick=${() => setDialog("edit")}>Edit and submit again… <kbd>e</kbd></button>` : null}
      ${steers && ended && job.state !== "completed" ? html`<button class="main" onClick=${retry}>Retry <kbd>r</kbd></button>` : null}</div>
    <${Failure} error=${error} />
    <p class="lead" id="why">${plain(why?.summary || job.explanation || "")}</p>
    <div class="grid">
      <div class="w8"><${Attempts} job=${job} why=${why} /></div>
      <div class="w4"><${Panel} title="Facts"><${FactsOf} job=${job} why=${why} /></${Panel}></div>
      <div class="w12"><${Logs} id=${job.id} ended=${ended} attempts=${job.attempts?.length || 0} /></div>
      <div class="w6"><${Body} title="Payload" value=${job.payload} /></div>
      <div class="w6"><${Body} title="Result" value=${job.result} empty=${ended ? "It has none." : "Not yet."} /></div>
      <div class="w12"><${Events} id=${job.id} from=${job.attempts?.[0]?.token} /></div>
    </div>
    ${dialog === "cancel" ? html`<${Dialog} title="Cancel this job?" onClose=${() => setDialog(null)}><p>${plain(job.id)} ends now, whatever its worker still does.</p>
      <div class="acts"><button onClick=${() => setDialog(null)}>Leave it</button><button class="danger" onClick=${() => { setDialog(null); cancel(); }}>Cancel the job</button></div></${Dialog}>` : null}
    ${dialog === "pin" ? html`<${Pin} onClose=${() => setDialog(null)} pin=${(worker) => { setDialog(null); act(`pinned to ${worker}`, () => post(`${path}/pin`, { worker })); }} />` : null}
    ${dialog === "edit" ? html`<${Edit} job=${job} onClose=${() => setDialog(null)} />` : null}`;
}

const link = (parts, words) => html`<a href=${address(parts)}>${plain(words)}</a>`;

function FactsOf({ job, why }) {
  const waiting = why?.waiting_for;
  const jobs = (ids) => ids?.length ? ids.slice(0, 12).map((other, i) => html`${i ? ", " : ""}${link(["jobs", other], other)}`) : undefined;
  return html`<${Facts} facts=${[
    ["type", html`<a href=${address(["jobs"], { type: job.type })}>${plain(job.type)}</a>`],
    ["run", job.run && link(["runs", job.run], job.run)],
    ["priority", job.priority], ["guarantee", job.guarantee?.replaceAll("_", " ")],
    ["submitted", `${clock(job.submitted_at)} (${ago(job.submitted_at)})`],
    ["submitted by", plain(job.submitted_by || job.sender || "")],
    ["waited", span(between(job.submitted_at, job.started_at))],
    ["ran", job.ended_at && job.started_at ? span(between(job.started_at, job.ended_at)) : undefined],
    ["timeout", span(job.timeout)], ["retries", `${job.failures} failed of ${job.retry + 1} tries${job.crashes ? `, ${job.crashes} crashes` : ""}`],
    ["expected start", waiting?.expected_start && clock(waiting.expected_start)],
    ["jobs ahead", waiting?.ahead],
    ["needs", jobs(job.dependencies)], ["tags", job.tags?.map(plain).join(", ")],
    ["model", job.model], ["receiver", job.receiver && link(["workers", job.receiver], job.receiver)], ["role", job.role], ["progress", job.progress !== undefined ? `${Math.round(job.progress * 100)}% ${plain(job.progress_note || "")}` : undefined],
  ]} />`;
}

/** One bar an attempt, all on the same time. */
function Attempts({ job, why }) {
  const attempts = job.attempts || [];
  const told = new Map((why?.attempts || []).map((attempt) => [attempt.token, attempt]));
  const begin = millis(job.submitted_at);
  const end = Math.max(millis(job.ended_at) || Date.now(), begin + 1);
  const share = (at) => `${((at - begin) / (end - begin)) * 100}%`;
  return html`<${Panel} title=${attempts.length === 1 ? "One attempt" : `${attempts.length} attempts`} aside=${attempts.length ? `over ${span((end - begin) / 1000)}` : null}>
    ${attempts.length ? null : html`<${Empty}>It was not placed yet.</${Empty}>`}
    ${attempts.map((attempt, i) => {
      const more = told.get(attempt.token);
      const offered = millis(attempt.offered_at);
      const started = millis(attempt.started_at) || offered;
      const over = millis(attempt.ended_at) || end;
      const tone = (STATES[attempt.state] || STATES.running).tone;
      return html`<div class="attempt" key=${attempt.token}>
        <div class="row"><b>${i + 1}</b><${State} of=${attempt.state} /> <span>on ${link(["workers", attempt.worker], attempt.worker)}</span>
          ${attempt.hedge ? html`<span class="hold">hedge</span>` : null}
          <span class="mute">${clock(attempt.offered_at, true)}, ran ${span((over - started) / 1000)}</span></div>
        <div class="track ${tone}" role="img" aria-label=${`attempt ${i + 1}: waited ${span((started - offered) / 1000)}, ran ${span((over - started) / 1000)}`}>
          <span class="waited" style=${{ left: share(offered), width: share(begin + Math.max(0, started - offered)) }}></span>
          <span style=${{ left: share(started), width: share(begin + Math.max(0, over - started)) }}></span></div>
        ${more?.ending || attempt.error ? html`<p class=${attempt.state === "failed" ? "bad" : "mute"}>${plain(more?.ending || attempt.error)}</p>` : null}
        ${more?.decision ? html`<${Decision} decision=${more.decision} actual=${more.actual_duration} />` : null}
      </div>`;
    })}
  </${Panel}>`;
}

const Body = ({ title, value, empty = "It has none." }) => html`<${Panel} title=${title} aside=${value !== undefined ? html`<${Copy} text=${() => JSON.stringify(value, null, 2)} />` : null}>
  ${value === undefined ? html`<${Empty}>${empty}</${Empty}>` : html`<pre tabindex="0">${json(value).slice(0, 100_000)}</pre>`}</${Panel}>`;

function Events({ id, from }) {
  const [list, setList] = useState(/** @type {any[]|null} */ (null));
  const [error, setError] = useState(null);
  const load = async () => {
    const { events } = await import("../api.js");
    const found = [];
    try {
      // The journal is read from the job's first attempt on, which is where it begins to be of interest.
      await events(`/events?follow=false&from=${Math.max(1, (from || 2) - 1)}&job=${part(id)}`, AbortSignal.timeout(20_000), (event) => found.push(event));
      setList(found);
    } catch (why) {
      setList(found);
      setError(why);
    }
  };
  return html`<${Panel} title="Events" aside=${html`<button class="quiet" onClick=${load}>${list ? "read again" : "read the journal"}</button>`}>
    <${Failure} error=${error} />
    ${list ? html`<table><caption class="unseen">Events of the job</caption><thead><tr><th scope="col">position</th><th scope="col">event</th><th scope="col">time</th><th scope="col">by</th></tr></thead>
      <tbody>${list.map(({ id: place, event, data }) => html`<tr><td>${plain(place)}</td><td>${event.replaceAll("_", " ")}</td><td>${clock(data.time, true)}</td><td>${plain(data.data?.actor || data.actor || "")}</td></tr>`)}</tbody></table>` : html`<${Empty}>What the journal says of it is read when you ask.</${Empty}>`}
  </${Panel}>`;
}

function Pin({ onClose, pin }) {
  const [workers, setWorkers] = useState([]);
  const [chosen, setChosen] = useState("");
  useEffect(() => {
    ask("/workers").then((data) => {
      setWorkers(data.workers);
      setChosen(data.workers[0]?.id || "");
    }, () => setWorkers([]));
  }, []);
  return html`<${Dialog} title="Pin to a worker" onClose=${onClose}>
    <form onSubmit=${(event) => { event.preventDefault(); pin(chosen); }}>
      <label>Worker <select value=${chosen} onChange=${(event) => setChosen(event.target.value)}>${workers.map((worker) => html`<option value=${worker.id}>${plain(worker.id)} (${worker.status})</option>`)}</select></label>
      <div class="acts"><button class="main" disabled=${!chosen}>Pin</button></div></form>
  </${Dialog}>`;
}

const SHOWN_ONLY = ["number", "state", "run", "submitted_at", "started_at", "ended_at", "failures", "crashes", "attempts", "explanation", "position", "submitted_by", "cancelled_by", "result", "result_hash", "progress", "progress_note", "root_cause", "node", "idempotency_key", "retried_by"];

/** What was wrong is mended in a copy: what was submitted stays what it was. */
function Edit({ job, onClose }) {
  const copy = Object.fromEntries(Object.entries(job).filter(([key]) => !SHOWN_ONLY.includes(key) && key !== "id"));
  const [body, setBody] = useState(JSON.stringify(copy, null, 2));
  const [error, setError] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    try {
      const answer = await post("/jobs", JSON.parse(body));
      onClose();
      go(address(["jobs", answer.jobs[0].id]));
    } catch (why) {
      setError(why);
    }
  };
  return html`<${Dialog} title="Edit and submit again" onClose=${onClose}>
    <form onSubmit=${submit}>
      <label>The job <textarea id="edited" spellcheck=${false} value=${body} onInput=${(event) => setBody(event.target.value)} onKeyDown=${(event) => event.key === "Enter" && event.ctrlKey && submit(event)}></textarea></label>
      <${Failure} error=${error} />
      <div class="acts"><span class="mute">It is a new job; this one stays.</span><button class="main">Submit <kbd>ctrl ↵</kbd></button></div></form>
  </${Dialog}>`;
}
