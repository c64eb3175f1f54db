// An empty scheduler: how to submit the first job.
import { may, post } from "../api.js";
import { html } from "../html.js";
import { Copy, Panel, attempt } from "../parts.js";
import { address, go } from "../router.js";

const WORKER = "bellwether worker --id w1";
const SUBMIT = "bellwether submit --type exec --payload '{\"argv\":[\"echo\",\"hello\"]}'";
const JOB = { type: "exec", payload: { argv: ["echo", "hello from the dashboard"] } };

export function First() {
  const submit = async () => {
    const answer = await attempt("submitted", () => post("/jobs", JOB));
    if (answer) go(address(["jobs", answer.jobs[0].id]));
  };
  return html`<${Panel} title="No job was submitted yet" class="first">
    <ol class="steps">
      <li>Start a worker that runs commands.<pre>${WORKER}</pre><${Copy} text=${WORKER} /></li>
      <li>Submit a job.<pre>${SUBMIT}</pre><${Copy} text=${SUBMIT} />
        ${may("submitter") ? html` <button class="main" onClick=${submit}>Submit it from here</button>` : null}</li>
      <li>Watch it here, or ask why it is where it is: <code>bellwether explain ID</code>.</li>
    </ol>
  </${Panel}>`;
}
