// How the scheduler decides: the latest decisions, another policy beside the live one, and what it predicts.
import { clock, count, plain, span } from "../format.js";
import { html, useState } from "../html.js";
import { useAsk } from "../live.js";
import { Empty, Facts, Failure, Meter, Panel } from "../parts.js";
import { address } from "../router.js";
import { Decision } from "./decision.js";

const percent = (share) => `${(share * 100).toFixed(1)}%`;

export function Decisions() {
  const { data, error } = useAsk("/decisions?limit=30", { every: 3000 });
  const { data: shadow } = useAsk("/shadow", { every: 4000 });
  const { data: predictions } = useAsk("/predictions", { every: 4000 });
  return html`<div class="top"><h1>Decisions</h1></div>
    <${Failure} error=${error} />
    <div class="grid">
      <div class="w5"><${Shadow} shadow=${shadow} /></div>
      <div class="w7"><${Predictions} predictions=${predictions} /></div>
      <div class="w12"><${Latest} decisions=${data?.decisions} /></div>
    </div>`;
}

function Shadow({ shadow }) {
  if (!shadow) return html`<${Panel} title="Shadow"></${Panel}>`;
  return html`<${Panel} title="Live, shadow and round-robin">
    ${shadow.shadow ? html`<${Facts} facts=${[
      ["live", shadow.live?.replaceAll("_", " ")], ["shadow", shadow.shadow.replaceAll("_", " ")], ["decisions compared", count(shadow.decisions)], ["agreement", percent(shadow.agreement)],
      ["live over round-robin", percent(shadow.live_gain)], ["shadow over round-robin", percent(shadow.shadow_gain)], ["shadow over live", percent(shadow.shadow_over_live)],
    ]} />` : html`<${Empty}>No policy decides in the shadow of ${shadow.live?.replaceAll("_", " ")}. <a href=${address(["settings"])}>Settings</a>: set <code>shadow</code> to one.</${Empty}>`}
    <p class="mute">What another policy or fleet would have done with the recorded journal: <code>bellwether whatif --help</code>.</p>
  </${Panel}>`;
}

function Predictions({ predictions }) {
  const types = predictions?.types || [];
  return html`<${Panel} title=${`Predictions per type${predictions ? `, by ${predictions.predictor}, breaker ${predictions.breaker}` : ""}`}>
    ${types.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Predictions"><table><caption class="unseen">Predictions per type</caption>
      <thead><tr><th scope="col">type</th><th scope="col" class="n">expected</th><th scope="col">confidence</th><th scope="col" class="n">samples</th><th scope="col">within 25%</th><th scope="col" class="n">error now, usually</th></tr></thead>
      <tbody>${types.map((type) => html`<tr><td><a href=${address(["jobs"], { type: type.type })}>${plain(type.type)}</a>${type.drifting ? html` <span class="warn">▲ drifts</span>` : null}</td>
        <td class="n">${span(type.estimate)}</td><td><${Meter} share=${type.confidence_percent / 100} label=${`confidence ${type.confidence_percent}%`} /> ${type.confidence_percent}%</td><td class="n">${count(type.samples)}</td>
        <td><${Meter} tone="good" share=${type.within_25_percent > 1 ? type.within_25_percent / 100 : type.within_25_percent} label="within 25%" /> ${Math.round(type.within_25_percent > 1 ? type.within_25_percent : type.within_25_percent * 100)}% of ${count(type.judged)}</td>
        <td class="n">${type.recent_error_percent}%, ${type.usual_error_percent}%</td></tr>`)}</tbody></table></div>` : html`<${Empty}>Nothing has ended yet that could be learned from.</${Empty}>`}
  </${Panel}>`;
}

function Latest({ decisions }) {
  const [open, setOpen] = useState(/** @type {number|null} */ (null));
  return html`<${Panel} title="Latest decisions">
    ${decisions && !decisions.length ? html`<${Empty}>Nothing was decided yet.</${Empty}>` : null}
    ${decisions?.map((decision) => html`<div class="attempt" key=${decision.position}>
      <div class="row"><span class="mute">${clock(decision.at, true)}</span><a href=${address(["jobs", decision.job])}>${plain(decision.job)}</a><span>→ <a href=${address(["workers", decision.worker])}>${plain(decision.worker)}</a></span>
        <span class="mute">${decision.reason.replaceAll("_", " ")}${decision.hedge ? ", hedge" : ""}${decision.fallback ? ", fallback" : ""}</span>
        <button class="quiet" aria-expanded=${open === decision.position} onClick=${() => setOpen(open === decision.position ? null : decision.position)}>why</button></div>
      ${open === decision.position ? html`<${Decision} decision=${decision} />` : null}</div>`)}
  </${Panel}>`;
}
