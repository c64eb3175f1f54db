// One run: its graph and its Gantt chart side by side.
import { may, part, post } from "../api.js";
import { Dag } from "../canvas/dag.js";
import { Lanes } from "../canvas/lanes.js";
import { clock, count, plain, span } from "../format.js";
import { html, useMemo, useState } from "../html.js";
import { useKeys } from "../keys.js";
import { useAsk } from "../live.js";
import { Copy, ENDED, Empty, Failure, Panel, STATES, State, StateBar, Twin, attempt } from "../parts.js";
import { address, go } from "../router.js";

const FAILED = ["failed", "dead_lettered"];
const ROWS_SHOWN = 500;

export function Run({ id }) {
  const { data: graph, error, reload } = useAsk(`/runs/${part(id)}/graph`, { every: 1500 });
  const [grouped, setGrouped] = useState(true);
  const [layout, setLayout] = useState(/** @type {any} */ (null));
  const failed = graph ? graph.job.filter((_, i) => FAILED.includes(graph.state[i])) : [];
  const running = graph ? graph.state.some((state) => !ENDED.includes(state)) : false;
  const retry = async () => {
    await attempt(`${failed.length} tried again, and what waits for them`, async () => {
      for (const job of failed.slice(0, 1000)) await post(`/jobs/${part(job)}/retry`);
    });
    reload();
  };
  const steers = may("operator") || may("submitter");
  useKeys([
    { keys: "r", words: "retry from the failed jobs", act: () => steers && failed.length && retry() },
    { keys: "x", words: "group fan-outs, or not", act: () => setGrouped((now) => !now) },
  ], [failed.length, graph]);
  if (!graph) return html`<div class="top"><h1>${plain(id)}</h1></div><${Failure} error=${error} />`;
  const states = {};
  graph.state.forEach((state) => (states[state] = (states[state] || 0) + 1));
  const begin = Math.min(...graph.submitted);
  const end = running ? Date.now() : Math.max(...graph.ended);
  const open = (job) => go(address(["jobs", graph.job[job]]));
  return html`
    <div class="top"><h1>${plain(id)}</h1><${Copy} text=${id} label="copy id" /><span class="grow"></span>
      <a class="button" href=${address(["jobs"], { run: id })}>As a list</a>
      ${steers && failed.length ? html`<button class="main" onClick=${retry}>Retry from ${failed.length === 1 ? "the failed job" : `${failed.length} failed jobs`} <kbd>r</kbd></button>` : null}</div>
    <${Failure} error=${error} />
    <p class="lead">${count(graph.job.length)} jobs${running ? ", goes on" : ""} since ${clock(begin)}, ${span((end - begin) / 1000)}${running ? " so far" : ""}${layout?.critical.length ? `; its end waits for a chain of ${count(layout.critical.length)}` : ""}.
      ${" "}${Object.keys(STATES).filter((state) => states[state]).map((state) => `${count(states[state])} ${STATES[state].word}`).join(", ")}.</p>
    <p><${StateBar} states=${states} total=${graph.job.length} /></p>
    <div class="grid">
      <div class="w6"><${Twin} title="Graph" aside=${html`<button class="quiet" aria-pressed=${grouped} onClick=${() => setGrouped(!grouped)}>group fan-outs <kbd>x</kbd></button>`}
        chart=${() => html`<${Dag} graph=${graph} grouped=${grouped} onPick=${open} onLayout=${setLayout} />`} table=${() => html`<${JobTable} graph=${graph} />`} /></div>
      <div class="w6"><${Gantt} graph=${graph} layout=${layout} /></div>
    </div>
    ${failed.length ? html`<${Panel} title="Failed"><ul class="attention">${failed.slice(0, 20).map((job) => html`<li><a href=${address(["jobs", job])}>${plain(job)}</a></li>`)}</ul></${Panel}>` : null}`;
}

function Gantt({ graph, layout }) {
  const { bars, lanes } = useMemo(() => {
    const critical = new Set(layout?.critical || []);
    const began = graph.job.map((_, i) => i).filter((i) => graph.started[i]);
    began.sort((a, b) => graph.started[a] - graph.started[b] || a - b);
    return {
      lanes: began.map((i) => graph.node[i]),
      bars: began.map((i, lane) => ({
        lane, from: graph.started[i], to: graph.ended[i] || Date.now(), state: graph.state[i], label: graph.node[i], id: graph.job[i], mark: critical.has(i),
      })),
    };
  }, [graph, layout]);
  return html`<${Twin} title="Gantt" chart=${() => (bars.length ? html`<${Lanes} bars=${bars} lanes=${lanes} height=${460} label="Jobs of the run over time" onPick=${(job) => go(address(["jobs", job]))} />` : html`<${Empty}>None has started.</${Empty}>`)}
    table=${() => html`<${JobTable} graph=${graph} />`} />`;
}

const JobTable = ({ graph }) => html`<table><caption class="unseen">Jobs of the run</caption>
  <thead><tr><th scope="col">job</th><th scope="col">state</th><th scope="col">needs</th><th scope="col">started</th><th scope="col" class="n">ran</th></tr></thead>
  <tbody>${graph.job.slice(0, ROWS_SHOWN).map((job, i) => html`<tr><td><a href=${address(["jobs", job])}>${plain(graph.node[i])}</a></td><td><${State} of=${graph.state[i]} /></td>
    <td>${graph.dependencies[i].slice(0, 6).map((k) => plain(graph.node[k])).join(", ")}${graph.dependencies[i].length > 6 ? " …" : ""}</td><td>${clock(graph.started[i], true)}</td>
    <td class="n">${graph.started[i] && graph.ended[i] ? span((graph.ended[i] - graph.started[i]) / 1000) : "–"}</td></tr>`)}
    ${graph.job.length > ROWS_SHOWN ? html`<tr><td colspan="5">and ${count(graph.job.length - ROWS_SHOWN)} more</td></tr>` : null}</tbody></table>`;
