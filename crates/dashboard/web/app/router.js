// Addresses: every view and every filter has one, so that it can be sent to somebody.
import { signal } from "./html.js";

const HOME = "/ui/";

const read = () => ({
  parts: location.pathname.slice(HOME.length).split("/").filter(Boolean).map(decode),
  query: Object.fromEntries(new URLSearchParams(location.search)),
});

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const place = signal(read());

/** @param {string[]} parts @param {Record<string, any>} query */
export function address(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given).toString();
  return HOME + parts.map(encodeURIComponent).join("/") + (text ? `?${text}` : "");
}

/** @param {string} to @param {boolean} instead of where we are */
export function go(to, instead = false) {
  if (instead) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  place.value = read();
  if (!instead) {
    window.scrollTo(0, 0);
    // Whoever listens or goes by keyboard begins at the new view.
    requestAnimationFrame(() => document.getElementById("view")?.focus({ preventScroll: true }));
  }
}

window.addEventListener("popstate", () => {
  place.value = read();
});

document.addEventListener("click", (event) => {
  const link = /** @type {Element} */ (event.target).closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const href = link.getAttribute("href");
  if (!href.startsWith(HOME) || link.hasAttribute("download")) return;
  event.preventDefault();
  go(href);
});
