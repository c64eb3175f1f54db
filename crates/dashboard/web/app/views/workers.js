// The fleet.
import { may, part, post } from "../api.js";
import { ago, count, plain } from "../format.js";
import { html, useState } from "../html.js";
import { useAsk } from "../live.js";
import { Empty, Failure, Meter, Panel, WorkerState, attempt } from "../parts.js";
import { address } from "../router.js";
import { Stream } from "./stream.js";

const percent = (share) => `${Math.round((share || 0) * 100)}%`;

export async function drain(worker, reload) {
  const draining = worker.status === "draining";
  await attempt(draining ? `${worker.id} takes jobs again` : `${worker.id} gets no more jobs`, () => post(`/workers/${part(worker.id)}/${draining ? "undrain" : "drain"}`));
  reload();
}

export function Workers() {
  const [all, setAll] = useState(false);
  const { data, error, reload } = useAsk(`/workers${all ? "?all=true" : ""}`);
  const workers = data?.workers || [];
  return html`<div class="top"><h1>Workers</h1><span class="mute">${data ? `${count(workers.length)}, ${count(workers.reduce((sum, worker) => sum + worker.slots, 0))} slots` : ""}</span><span class="grow"></span>
      <button aria-pressed=${all} onClick=${() => setAll(!all)}>With those that are gone</button></div>
    <${Failure} error=${error} />
    <div class="grid"><div class="w12"><${Stream} /></div>
    <div class="w12"><${Panel} title="Fleet">
      ${data && !workers.length ? html`<${Empty}>No worker is here. <code>bellwether worker --id w1</code> starts one.</${Empty}>` : null}
      ${workers.length ? html`<div class="wide" tabindex="0" role="region" aria-label="Fleet"><table><caption class="unseen">Workers</caption>
        <thead><tr><th scope="col">worker</th><th scope="col">status</th><th scope="col">slots</th><th scope="col">load</th><th scope="col">types</th><th scope="col">models</th><th scope="col" class="n">completed</th><th scope="col" class="n">failed</th><th scope="col">heard</th><th scope="col"><span class="unseen">actions</span></th></tr></thead>
        <tbody>${workers.map((worker) => html`<tr key=${worker.id}>
          <td><a href=${address(["workers", worker.id])}>${plain(worker.id)}</a></td>
          <td><${WorkerState} of=${worker.status} /></td>
          <td><${Meter} share=${worker.held.length / Math.max(1, worker.slots)} label=${`${worker.held.length} of ${worker.slots} slots`} /> ${worker.held.length}/${worker.slots}</td>
          <td><${Meter} share=${worker.load} tone=${worker.load > 0.9 ? "warn" : "good"} label=${`load ${percent(worker.load)}`} /> ${percent(worker.load)}</td>
          <td>${worker.types.map(plain).join(", ") || "any"}</td><td>${worker.models.map(plain).join(", ") || "–"}</td>
          <td class="n">${count(worker.completed)}</td><td class="n">${count(worker.failed)}</td><td>${ago(worker.last_seen)}</td>
          <td>${may("operator") && !["left", "unreachable"].includes(worker.status) ? html`<button class="quiet" onClick=${() => drain(worker, reload)}>${worker.status === "draining" ? "undrain" : "drain"}</button>` : null}</td></tr>`)}</tbody></table></div>` : null}
    </${Panel}></div></div>`;
}
