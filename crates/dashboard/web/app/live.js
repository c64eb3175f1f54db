// One live connection for all tabs: whoever holds the lock reads the stream and tells the others.
import { ask, events, me, token } from "./api.js";
import { effect, signal, useEffect, useRef, useState } from "./html.js";

/** The latest summary of the scheduler. */
export const summary = signal(/** @type {any} */ (null));
/** live, or lost while nothing comes. */
export const connection = signal("connecting");
/** The last 15 minutes, second by second. */
export const recent = signal(/** @type {any} */ (null));
/** Grows when everything may have changed: a scheduler that has come back. */
export const again = signal(0);

const SILENT_AFTER = 4000;
const POINTS_MAX = 900;
const RETRY_FIRST = 300;
const RETRY_MAX = 3000;

let heard = 0;

export async function connect() {
  const name = `bellwether-live-${await digest(token())}`;
  const channel = new BroadcastChannel(name);
  const take = (data) => {
    heard = performance.now();
    const before = summary.value;
    const lost = connection.value === "lost";
    summary.value = data;
    connection.value = "live";
    const other = before && before.started_at !== data.started_at;
    if (lost || other) {
      again.value += 1;
      loadRecent();
    } else {
      append(data);
    }
  };
  channel.addEventListener("message", ({ data }) => take(data));
  loadRecent();
  setInterval(() => {
    if (heard && performance.now() - heard > SILENT_AFTER) connection.value = "lost";
  }, 1000);
  navigator.locks.request(name, async () => {
    let wait = RETRY_FIRST;
    while (me.value) {
      try {
        await events("/summary", new AbortController().signal, ({ data }) => {
          wait = RETRY_FIRST;
          channel.postMessage(data);
          take(data);
        });
      } catch {
        // Told by the time that nothing was heard.
      }
      if (performance.now() - heard > 1500) connection.value = "lost";
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, RETRY_MAX);
    }
  });
}

async function digest(text) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(bytes)].slice(0, 8).map((b) => b.toString(16).padStart(2, "0")).join("");
}

async function loadRecent() {
  try {
    recent.value = await ask("/series");
  } catch {
    // The next summary that comes after a loss asks again.
  }
}

function append(data) {
  const known = recent.value;
  if (!known || known.at.at(-1) >= data.at) return;
  const { rates } = data;
  const jobs = data.jobs || {};
  const next = {
    ...rates,
    at: data.at,
    wait_p50: rates.wait_p50 ?? null, wait_p99: rates.wait_p99 ?? null,
    whole_p50: rates.whole_p50 ?? null, whole_p99: rates.whole_p99 ?? null,
    waiting: jobs.waiting || 0, delayed: jobs.delayed || 0, ready: jobs.ready || 0,
    running: (jobs.offered || 0) + (jobs.running || 0),
    workers: data.workers, slots: data.slots, slots_used: data.slots_used,
  };
  const grown = { step: known.step };
  for (const [key, values] of Object.entries(known)) {
    if (key === "step") continue;
    const list = values.length >= POINTS_MAX ? values.slice(1) : values.slice();
    list.push(next[key] ?? null);
    grown[key] = list;
  }
  recent.value = grown;
}

/**
 * What a path answers, asked again when something has happened, but not more often than `every` and only while
 * somebody looks.
 * @param {string|null} path @param {{every?:number, live?:boolean}} options
 */
export function useAsk(path, { every = 2000, live = true } = {}) {
  const [state, setState] = useState({ path: null, data: null, error: null });
  const reload = useRef(() => {});
  useEffect(() => {
    if (!path) return undefined;
    const abort = new AbortController();
    let busy = false;
    let last = -Infinity;
    let seen = -1;
    let timer = 0;
    const load = async () => {
      if (busy || abort.signal.aborted) return;
      busy = true;
      last = performance.now();
      seen = summary.peek()?.position ?? -1;
      try {
        const data = await ask(path, { signal: abort.signal });
        if (!abort.signal.aborted) setState({ path, data, error: null });
      } catch (error) {
        if (!abort.signal.aborted) setState((old) => ({ path, data: old.path === path ? old.data : null, error }));
      }
      busy = false;
    };
    reload.current = load;
    load();
    const soon = () => {
      if (document.hidden || timer) return;
      timer = window.setTimeout(() => {
        timer = 0;
        load();
      }, Math.max(0, every - (performance.now() - last)));
    };
    let stop = () => {};
    if (live) {
      let first = true;
      stop = effect(() => {
        const position = summary.value?.position;
        again.value;
        if (!first && position !== seen) soon();
        first = false;
      });
    }
    return () => {
      abort.abort();
      stop();
      clearTimeout(timer);
    };
  }, [path, every, live, again.value]);
  const current = state.path === path;
  return { data: current ? state.data : null, error: current ? state.error : null, reload: () => reload.current() };
}
