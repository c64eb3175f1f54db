// Settings that can change while the scheduler runs. A change says which version it follows on; where somebody else
// was quicker, the difference is shown and nothing is overwritten.
import { Problem, may, request } from "../api.js";
import { plain } from "../format.js";
import { html, useEffect, useState } from "../html.js";
import { again, summary } from "../live.js";
import { Failure, Panel, say } from "../parts.js";

const flat = (value, prefix = "") => Object.entries(value).flatMap(([key, inner]) =>
  inner && typeof inner === "object" && !Array.isArray(inner) && Object.keys(inner).length ? flat(inner, `${prefix}${key}.`) : [[prefix + key, inner]]);

const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function parsed(text, before) {
  if (typeof before === "string") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function patchOf(changes, settings) {
  const patch = {};
  for (const [path, text] of Object.entries(changes)) {
    const keys = path.split(".");
    const before = keys.reduce((value, key) => value?.[key], settings);
    keys.reduce((place, key, i) => (place[key] = i === keys.length - 1 ? parsed(text, before) : place[key] || {}), patch);
  }
  return patch;
}

/** What is left out of the settings while nobody has set it. */
const OPTIONAL = { shadow: "" };

async function read() {
  const response = await request("/config");
  return { settings: await response.json(), etag: response.headers.get("etag") };
}

export function Settings() {
  const [held, setHeld] = useState(/** @type {any} */ (null));
  const [changes, setChanges] = useState(/** @type {Record<string,string>} */ ({}));
  const [theirs, setTheirs] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(null);
  const version = summary.value?.config_version;
  const load = () => read().then((now) => {
    setHeld(now);
    setError(null);
  }, setError);
  useEffect(() => {
    if (!Object.keys(changes).length) load();
  }, [version, again.value]);
  const save = async (event) => {
    event?.preventDefault();
    try {
      await request("/config", { method: "PATCH", body: patchOf(changes, held.settings), headers: { "if-match": held.etag, "content-type": "application/merge-patch+json" } });
      setChanges({});
      setTheirs(null);
      say("the settings hold from now on");
      await load();
    } catch (why) {
      if (why instanceof Problem && why.status === 412) setTheirs(await read());
      else setError(why);
    }
  };
  if (!held) return html`<div class="top"><h1>Settings</h1></div><${Failure} error=${error} />`;
  const changed = Object.keys(changes).length;
  return html`<div class="top"><h1>Settings</h1><span class="mute">version ${held.etag.replaceAll('"', "")}</span><span class="grow"></span>
      ${changed ? html`<button onClick=${() => { setChanges({}); setTheirs(null); load(); }}>Forget changes</button><button class="main" disabled=${Boolean(theirs)} onClick=${save}>Save ${changed}</button>` : null}</div>
    <${Failure} error=${error} />
    ${theirs ? html`<${Difference} held=${held} theirs=${theirs} changes=${changes} take=${() => { setHeld(theirs); setTheirs(null); }} />` : null}
    <${Panel} title="What can change while it runs"><form onSubmit=${save}><div class="wide" tabindex="0" role="region" aria-label="Settings"><table><caption class="unseen">Settings</caption><thead><tr><th scope="col">setting</th><th scope="col">value</th></tr></thead>
      <tbody>${flat({ ...OPTIONAL, ...held.settings }).map(([path, value]) => html`<tr key=${path} class=${path in changes ? "changed" : ""}><td><label for=${`set-${path}`}><code>${plain(path)}</code></label></td>
        <td><input id=${`set-${path}`} disabled=${!may("operator")} value=${changes[path] ?? shown(value)} onInput=${(event) => {
          const text = event.target.value;
          setChanges((old) => {
            const { [path]: _, ...others } = old;
            return text === shown(value) ? others : { ...others, [path]: text };
          });
        }} /></td></tr>`)}</tbody></table></div><button class="unseen" tabindex="-1">Save</button></form></${Panel}>`;
}

function Difference({ held, theirs, changes, take }) {
  const before = Object.fromEntries(flat(held.settings));
  const after = Object.fromEntries(flat(theirs.settings));
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((path) => shown(before[path]) !== shown(after[path]) || path in changes);
  return html`<div role="alert"><${Panel} title="Somebody else changed the settings meanwhile; nothing of yours was saved">
    <table><caption class="unseen">The difference</caption><thead><tr><th scope="col">setting</th><th scope="col">when you began</th><th scope="col">now</th><th scope="col">yours</th></tr></thead>
      <tbody>${paths.map((path) => html`<tr><td><code>${plain(path)}</code></td><td>${shown(before[path])}</td><td>${shown(after[path]) === shown(before[path]) ? shown(after[path]) : html`<b class="warn">${shown(after[path])}</b>`}</td><td>${changes[path] ?? "–"}</td></tr>`)}</tbody></table>
    <p><button onClick=${take}>Keep my changes, on top of theirs</button></p></${Panel}></div>`;
}
