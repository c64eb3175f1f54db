// A decision in words, and the scores of those who were compared as bars.
import { plain, span } from "../format.js";
import { html } from "../html.js";
import { address } from "../router.js";

const PARTS = ["wait", "load", "priority"];

export function Decision({ decision, actual }) {
  const candidates = decision.candidates || [];
  const most = Math.max(0.001, ...candidates.map((candidate) => candidate.score));
  return html`<div>
    <p>${plain(decision.words)}${actual !== undefined ? html`, <span class="mute">it took ${span(actual)}</span>` : null}</p>
    ${candidates.length ? html`
      <div class="weights" aria-hidden="true">${PARTS.map((name) => html`<span class=${name}><i></i>${name}</span>`)}</div>
      <div class="candidates" role="list" aria-label="workers that were compared">
        ${candidates.map((candidate) => html`<div class="candidate ${candidate.worker === decision.worker ? "won" : ""}" role="listitem">
          <a href=${address(["workers", candidate.worker])}>${plain(candidate.worker)}</a>
          <span class="bars" role="img" aria-label=${PARTS.map((name) => `${name} ${(candidate[name] ?? 0).toFixed(3)}`).join(", ")}>
            ${PARTS.map((name) => html`<span class=${name} style=${{ width: `${(Math.max(0, candidate[name] ?? 0) / most) * 100}%` }}></span>`)}</span>
          <span class="n">${candidate.score.toFixed(3)}</span></div>`)}
      </div>
      ${decision.compared > candidates.length ? html`<p class="mute">${decision.compared - candidates.length} more were compared and scored less.</p>` : null}` : null}
  </div>`;
}
