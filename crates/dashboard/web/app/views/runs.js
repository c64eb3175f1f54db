// Runs: jobs that were submitted together.
import { ago, between, count, plain, span } from "../format.js";
import { html } from "../html.js";
import { useAsk } from "../live.js";
import { Empty, Failure, Panel, StateBar } from "../parts.js";
import { address } from "../router.js";

export function Runs() {
  const { data, error } = useAsk("/runs?limit=100");
  return html`<div class="top"><h1>Runs</h1></div>
    <${Failure} error=${error} />
    <${Panel} title="Newest first">
      ${data && !data.runs.length ? html`<${Empty}>No run was submitted yet: a file with jobs that wait for each other is one.</${Empty}>` : null}
      ${data?.runs.length ? html`<div class="wide" tabindex="0" role="region" aria-label="Runs"><table><caption class="unseen">Runs</caption>
        <thead><tr><th scope="col">run</th><th scope="col">jobs by state</th><th scope="col" class="n">jobs</th><th scope="col">submitted</th><th scope="col" class="n">took</th></tr></thead>
        <tbody>${data.runs.map((run) => html`<tr>
          <td><a href=${address(["runs", run.id])}>${plain(run.id)}</a></td>
          <td><${StateBar} states=${run.states} total=${run.total} /></td>
          <td class="n">${count(run.total)}</td>
          <td>${ago(run.submitted_at)}</td>
          <td class="n">${run.ended_at ? span(between(run.submitted_at, run.ended_at)) : "goes on"}</td></tr>`)}</tbody></table></div>` : null}
    </${Panel}>`;
}
