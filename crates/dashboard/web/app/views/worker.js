// One worker.
import { may, part } from "../api.js";
import { ago, clock, count, plain, span } from "../format.js";
import { html } from "../html.js";
import { useKeys } from "../keys.js";
import { useAsk } from "../live.js";
import { Empty, Facts, Failure, Panel, WorkerState } from "../parts.js";
import { address } from "../router.js";
import { Stream } from "./stream.js";
import { drain } from "./workers.js";

const percent = (share) => `${Math.round((share || 0) * 100)}%`;

export function Worker({ id }) {
  const { data: worker, error, reload } = useAsk(`/workers/${part(id)}`, { every: 1500 });
  useKeys([{ keys: "d", words: "drain, or let it have jobs again", act: () => may("operator") && worker && drain(worker, reload) }], [worker]);
  if (!worker) return html`<div class="top"><h1>${plain(id)}</h1></div><${Failure} error=${error} />`;
  const list = (words) => words?.map(plain).join(", ");
  return html`<div class="top"><${WorkerState} of=${worker.status} /><h1>${plain(worker.id)}</h1><span class="grow"></span>
      <a class="button" href=${address(["jobs"], { worker: worker.id })}>Its jobs</a>
      ${may("operator") ? html`<button onClick=${() => drain(worker, reload)}>${worker.status === "draining" ? "Let it have jobs again" : "Drain"} <kbd>d</kbd></button>` : null}</div>
    <${Failure} error=${error} />
    <div class="grid">
      <div class="w12"><${Stream} worker=${worker.id} height=${220} /></div>
      <div class="w6"><${Panel} title="Facts"><${Facts} facts=${[
        ["slots", `${worker.held.length} of ${worker.slots} in use`], ["load", percent(worker.load)], ["processor", percent(worker.cpu_load)], ["memory", percent(worker.memory_load)],
        ["class", plain(worker.class)], ["zone", plain(worker.zone || "")], ["types", list(worker.types) || "any"], ["roles", list(worker.roles)], ["capabilities", list(worker.capabilities)], ["models", list(worker.models)],
        ["completed", count(worker.completed)], ["failed", count(worker.failed)], ["busy for", span(worker.busy)], ["speed", worker.speed], ["heard", ago(worker.last_seen)],
        ["free at", worker.estimated_available_at && clock(worker.estimated_available_at)], ["key", worker.public_key && html`<code>${worker.public_key.slice(0, 16)}…</code>`],
      ]} /></${Panel}></div>
      <div class="w6"><${Panel} title="Holds">
        ${worker.held.length ? html`<table><caption class="unseen">Jobs that it holds</caption><thead><tr><th scope="col">job</th><th scope="col">since</th></tr></thead><tbody>${worker.held.slice(0, 100).map((held) => html`<tr><td><a href=${address(["jobs", held.id])}>${plain(held.id)}</a></td><td>${held.running ? "runs" : "offered"} ${ago(held.since)}</td></tr>`)}</tbody></table>` : html`<${Empty}>Nothing now.</${Empty}>`}</${Panel}></div>
    </div>`;
}
