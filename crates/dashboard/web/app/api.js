// Asking the scheduler. The token is in this tab's session storage and in no address.
import { signal } from "./html.js";

const KEY = "bellwether-token";
const BASE = "/scheduler";

/** Who we are; null before it is known, false if nobody lets us in. */
export const me = signal(/** @type {null|false|{name:string,roles:string[]}} */ (null));

export class Problem extends Error {
  /** @param {number} status @param {any} body */
  constructor(status, body) {
    super(body?.detail || `the scheduler answered ${status}`);
    this.status = status;
    this.code = body?.code || "";
    this.body = body;
  }
}

export const token = () => sessionStorage.getItem(KEY) || "";

export function headers(more = {}) {
  const known = token();
  return known ? { authorization: `Bearer ${known}`, ...more } : more;
}

/**
 * @param {string} path below /scheduler
 * @param {{method?:string, body?:any, headers?:Record<string,string>, signal?:AbortSignal}} options
 */
export async function request(path, options = {}) {
  const { method = "GET", body, signal: abort } = options;
  const more = { ...options.headers };
  if (body !== undefined) more["content-type"] ??= "application/json";
  const response = await fetch(BASE + path, {
    method,
    headers: headers(more),
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: abort,
    cache: "no-store",
    credentials: "omit",
    redirect: "follow",
  });
  if (response.ok) return response;
  const told = await response.json().catch(() => null);
  if (response.status === 401) signOut();
  throw new Problem(response.status, told);
}

/** The JSON of an answer. */
export const ask = async (path, options) => (await request(path, options)).json();

export const post = (path, body, more = {}) => ask(path, { method: "POST", body, ...more });

/** @param {string} id */
export const part = (id) => encodeURIComponent(id);

/** Of a filter, those parameters that say something. @param {Record<string, any>} wanted */
export function query(wanted) {
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return text ? `?${text}` : "";
}

export const may = (role) => Boolean(me.value && me.value.roles.includes(role));

export function signOut() {
  sessionStorage.removeItem(KEY);
  me.value = false;
}

/** Tries a token; tells whether it lets us in. @param {string} given */
export async function signInWith(given) {
  sessionStorage.setItem(KEY, given.trim());
  try {
    me.value = await ask("/whoami");
    return true;
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return false;
    throw error;
  }
}

/** With the ticket of a link, the token of this tab or that of another one, or none at all. */
export async function signIn() {
  const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
  if (ticket) {
    // Out of the address first: whatever happens, it is in no history.
    history.replaceState(null, "", location.pathname + location.search);
    const answer = await ask("/sign-in", { method: "POST", body: { ticket } }).catch((error) => error);
    if (answer.token) sessionStorage.setItem(KEY, answer.token);
    else if (!token()) me.value = false;
  }
  if (!token()) {
    const given = await tokenOfAnother();
    if (given) sessionStorage.setItem(KEY, given);
  }
  try {
    me.value = await ask("/whoami");
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    me.value = false;
  }
}

const tabs = new BroadcastChannel("bellwether-tabs");

// A view that is opened in a new tab is signed in as the tab that it was opened from.
tabs.addEventListener("message", ({ data }) => {
  if (data?.ask === "token" && token()) tabs.postMessage({ token: token() });
});

function tokenOfAnother() {
  return new Promise((resolve) => {
    const done = (given) => {
      tabs.removeEventListener("message", hear);
      clearTimeout(timer);
      resolve(given);
    };
    const hear = ({ data }) => data?.token && done(data.token);
    const timer = setTimeout(() => done(""), 120);
    tabs.addEventListener("message", hear);
    tabs.postMessage({ ask: "token" });
  });
}

/**
 * Server-sent events over fetch, which can carry a token.
 * @param {string} path @param {AbortSignal} abort @param {(event:{id:string,event:string,data:any}) => void} tell
 * @param {Record<string,string>} more headers
 */
export async function events(path, abort, tell, more = {}) {
  const response = await request(path, { signal: abort, headers: { accept: "text/event-stream", ...more } });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    let end;
    while ((end = rest.indexOf("\n\n")) >= 0) {
      const event = { id: "", event: "message", data: null };
      for (const line of rest.slice(0, end).split("\n")) {
        const colon = line.indexOf(": ");
        if (colon > 0) event[line.slice(0, colon)] = line.slice(colon + 2);
      }
      rest = rest.slice(end + 2);
      if (event.data === null) continue;
      event.data = JSON.parse(event.data);
      tell(event);
    }
  }
}
