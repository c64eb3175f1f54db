// What is around the jobs: schedulers, queues in front, types.
import { may, part, post } from "../api.js";
import { count, plain, span } from "../format.js";
import { html } from "../html.js";
import { summary, useAsk } from "../live.js";
import { Empty, Facts, Failure, Panel, Table, attempt } from "../parts.js";
import { address } from "../router.js";

export function System() {
  const status = summary.value;
  const members = useAsk("/members", { every: 3000 });
  const queues = useAsk("/queues", { every: 3000 });
  const types = useAsk("/types", { every: 3000 });
  const pause = async (type) => {
    await attempt(`${type.type} ${type.paused ? "goes on" : "is paused"}`, () => post(`/types/${part(type.type)}/${type.paused ? "resume" : "pause"}`));
    types.reload();
  };
  return html`<div class="top"><h1>System</h1></div>
    <${Failure} error=${members.error || queues.error || types.error} />
    <div class="grid">
      <div class="w6"><${Panel} title="Scheduler">${status ? html`<${Facts} facts=${[
        ["version", status.version], ["role", status.role], ["reign", count(status.epoch)], ["position", count(status.position)], ["up", span((Date.now() - Date.parse(status.started_at)) / 1000)],
        ["strategy", status.strategy?.replaceAll("_", " ")], ["predictor", status.predictor], ["breaker", status.breaker], ["queue", `${status.filled_percent}% full`], ["settings version", status.config_version],
        ["chain", html`<code>${status.chain.slice(0, 16)}…</code>`], ["state", status.explanation ? plain(status.explanation) : "takes work"],
      ]} />` : null}</${Panel}></div>
      <div class="w6"><${Panel} title="Cluster">${members.data?.members.length ? html`<${Table} caption="Schedulers" headings=${["member", "address", "votes", "position"]} numeric=${[3]}
          rows=${members.data.members.map((member) => [`${member.member}${member.member === members.data.leader?.member ? " leads" : ""}`, plain(member.address), member.votes ? "yes" : "no", count(member.position)])} />` :
        html`<${Empty}>${members.data ? (members.data.standing === "alone" ? "One scheduler, alone." : `This one is ${members.data.standing}; ${members.data.leader ? `${plain(members.data.leader.http)} leads` : "nobody leads"}.`) : ""}</${Empty}>`}</${Panel}></div>
      <div class="w12"><${Panel} title="Queues in front">${queues.data?.queues.length ? html`<div class="wide" tabindex="0" role="region" aria-label="Queues"><${Table} caption="Queues in front" numeric=${[2, 3, 4, 5, 6, 7]} headings=${["queue", "backend", "taken", "set aside", "in hand", "failures", "events", "behind"]}
          rows=${queues.data.queues.map((queue) => [plain(queue.name), queue.backend, count(queue.taken), count(queue.dead_lettered), count(queue.held), count(queue.failures), count(queue.events), count(queue.events_lag)])} /></div>` : html`<${Empty}>No queue is in front.</${Empty}>`}</${Panel}></div>
      <div class="w12"><${Panel} title="Types, since the scheduler started">${types.data?.types.length ? html`<div class="wide" tabindex="0" role="region" aria-label="Types"><${Table} caption="Types" numeric=${[1, 2, 3, 4]} headings=${["type", "submitted", "completed", "failed", "retries", "pause"]}
          rows=${types.data.types.map((type) => [html`<a href=${address(["jobs"], { type: type.type })}>${plain(type.type)}</a>`, count(type.submitted), count(type.ended.completed || 0), count((type.ended.failed || 0) + (type.ended.dead_lettered || 0)), count(type.retries),
            may("operator") ? html`<button class="quiet" onClick=${() => pause(type)}>${type.paused ? "resume" : "pause"}<span class="unseen"> ${plain(type.type)}</span></button>` : ""])} /></div>` : html`<${Empty}>No job has come yet.</${Empty}>`}</${Panel}></div>
    </div>`;
}
