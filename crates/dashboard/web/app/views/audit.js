// Who did what by hand: submissions are left out, because they are the jobs.
import { events } from "../api.js";
import { clock, plain } from "../format.js";
import { html, useEffect, useState } from "../html.js";
import { again, summary } from "../live.js";
import { Empty, Failure, Panel } from "../parts.js";
import { address } from "../router.js";

/** Entries of the journal that are looked through. */
const REACH = 50_000;
const SHOWN = 500;
const LEFT_OUT = ["job_submitted", "run_submitted"];

export function Audit() {
  const [list, setList] = useState(/** @type {any[]|null} */ (null));
  const [error, setError] = useState(null);
  const [reach, setReach] = useState(REACH);
  const ready = Boolean(summary.value);
  useEffect(() => {
    if (!ready) return undefined;
    const abort = new AbortController();
    const from = Math.max(1, (summary.peek()?.position || 0) - reach);
    let found = [];
    setError(null);
    let drawn = 0;
    const show = () => {
      drawn = 0;
      setList(found.slice().reverse());
    };
    events(`/events?by_hand=true&from=${from}`, abort.signal, (event) => {
      if (LEFT_OUT.includes(event.event)) return;
      found.push(event);
      if (found.length > SHOWN) found = found.slice(-SHOWN);
      drawn ||= window.setTimeout(show, 150);
    }).catch((why) => {
      // A scheduler that does not answer is told by the page itself, and asked again when it is back.
      if (!abort.signal.aborted && why.status) setError(why);
    });
    const timer = setTimeout(show, 800);
    return () => {
      abort.abort();
      clearTimeout(timer);
      clearTimeout(drawn);
    };
  }, [ready, reach, again.value]);
  return html`<div class="top"><h1>Audit</h1><span class="mute">the last ${reach.toLocaleString("en")} entries of the journal, live</span><span class="grow"></span>
      <button onClick=${() => setReach(reach * 10)}>Look further back</button></div>
    <${Failure} error=${error} />
    <${Panel} title="What somebody did by hand, newest first">
      ${list && !list.length ? html`<${Empty}>Nobody did anything but submit.</${Empty}>` : null}
      ${list?.length ? html`<div class="wide" tabindex="0" role="region" aria-label="Audit"><table><caption class="unseen">What was done by hand</caption><thead><tr><th scope="col">time</th><th scope="col">who</th><th scope="col">what</th><th scope="col">to</th><th scope="col">position</th></tr></thead>
        <tbody>${list.map(({ id, event, data }) => html`<tr key=${id}><td>${clock(data.time, true)}</td><td>${plain(data.actor || data.data?.actor || "")}</td><td>${event.replaceAll("_", " ")}</td>
          <td>${data.subject && event.startsWith("job_") ? html`<a href=${address(["jobs", data.subject])}>${plain(data.subject)}</a>` : plain(data.subject || "")}</td><td>${plain(id)}</td></tr>`)}</tbody></table></div>` : null}
    </${Panel}>`;
}
