// The frame around every view, and which view an address stands for.
import { me, signIn, signOut } from "./api.js";
import { count } from "./format.js";
import { html, render, useEffect } from "./html.js";
import { EVERYWHERE, bindings, helpShown, useKeys } from "./keys.js";
import { again, connect, connection, summary } from "./live.js";
import { Dialog, Notice } from "./parts.js";
import { address, go, place } from "./router.js";
import { Audit } from "./views/audit.js";
import { Decisions } from "./views/decisions.js";
import { Job } from "./views/job.js";
import { Jobs } from "./views/jobs.js";
import { Overview } from "./views/overview.js";
import { Run } from "./views/run.js";
import { Runs } from "./views/runs.js";
import { Settings } from "./views/settings.js";
import { SignIn } from "./views/sign_in.js";
import { System } from "./views/system.js";
import { Worker } from "./views/worker.js";
import { Workers } from "./views/workers.js";

const VIEWS = [
  ["", "Overview", "g o"],
  ["jobs", "Jobs", "g j"],
  ["runs", "Runs", "g r"],
  ["workers", "Workers", "g w"],
  ["decisions", "Decisions", "g d"],
  ["system", "System", "g y"],
  ["settings", "Settings", "g s"],
  ["audit", "Audit", "g a"],
];

function viewOf({ parts, query }) {
  const [name = "", id] = parts;
  switch (name) {
    case "": return html`<${Overview} />`;
    case "jobs": return id ? html`<${Job} key=${id} id=${id} />` : html`<${Jobs} query=${query} />`;
    case "runs": return id ? html`<${Run} key=${id} id=${id} query=${query} />` : html`<${Runs} />`;
    case "workers": return id ? html`<${Worker} key=${id} id=${id} />` : html`<${Workers} />`;
    case "decisions": return html`<${Decisions} />`;
    case "system": return html`<${System} />`;
    case "settings": return html`<${Settings} />`;
    case "audit": return html`<${Audit} />`;
    default: return html`<div class="top"><h1>Nothing is here</h1></div><p><a href=${address([])}>Overview</a></p>`;
  }
}

function theme(next) {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const kept = localStorage.getItem("bellwether-theme");
  root.dataset.theme = next || kept || dark;
  if (next) localStorage.setItem("bellwether-theme", next);
  again.value += next ? 1 : 0;
}

function Side() {
  const here = place.value.parts[0] || "";
  const status = summary.value;
  return html`<nav class="side" aria-label="Views">
    <a class="brand" href=${address([])}><img src="/ui/assets/icon.svg" alt="" />Bellwether</a>
    <ul>${VIEWS.map(([name, word, keys]) => html`<li><a href=${address(name ? [name] : [])} aria-current=${here === name ? "page" : null}>${word} <kbd aria-hidden="true">${keys}</kbd></a></li>`)}</ul>
    <div class="foot">
      <span class="pulse ${connection.value}"><i aria-hidden="true"></i>${connection.value}</span>
      ${status ? html`<span class="who">${status.role || ""}, position ${count(status.position)}</span>` : null}
      ${me.value ? html`<span class="who">${me.value.name} <button class="quiet" onClick=${signOut}>sign out</button></span>` : null}
      <span class="who"><button class="quiet" onClick=${() => (helpShown.value = true)}>keys <kbd>?</kbd></button></span>
    </div>
  </nav>`;
}

function Help() {
  if (!helpShown.value) return null;
  const own = bindings.value.flat().filter((binding) => !EVERYWHERE.some(([keys]) => keys === binding.keys));
  const row = ([keys, words]) => html`<div><span>${words}</span><kbd>${keys}</kbd></div>`;
  return html`<${Dialog} title="Keys" onClose=${() => (helpShown.value = false)}>
    <div class="keys">${EVERYWHERE.map(row)}</div>
    ${own.length ? html`<h3>Here</h3><div class="keys">${own.map(({ keys, words }) => row([keys, words]))}</div>` : null}
  </${Dialog}>`;
}

function App() {
  useKeys([
    { keys: "t", words: "dark or light", act: () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark") },
    { keys: "/", words: "search", act: search },
  ], []);
  const where = place.value;
  useEffect(() => {
    const name = VIEWS.find(([view]) => view === (where.parts[0] || ""))?.[1] || "";
    document.title = `${where.parts[1] || name || "Bellwether"} · Bellwether`;
  }, [where]);
  if (me.value === null) return null;
  if (me.value === false) return html`<main id="view"><${SignIn} /></main>`;
  return html`<a class="skip" href="#view">Skip to the view</a>
    ${connection.value === "lost" ? html`<div class="banner" role="alert">The scheduler does not answer. This is the last that was heard; it goes on by itself.</div>` : null}
    <div class="frame"><${Side} /><main id="view" tabindex="-1">${viewOf(where)}</main></div>
    <${Help} /><${Notice} />`;
}

function search() {
  const focus = () => document.getElementById("search")?.focus();
  if (place.value.parts[0] === "jobs" && !place.value.parts[1]) focus();
  else {
    go(address(["jobs"]));
    requestAnimationFrame(() => requestAnimationFrame(focus));
  }
}

theme();
await signIn();
render(html`<${App} />`, document.getElementById("app"));
let connected = false;
const connectOnce = () => {
  if (me.value && !connected) {
    connected = true;
    connect();
  }
};
connectOnce();
me.subscribe(connectOnce);
