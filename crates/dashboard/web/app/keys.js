// Keys. A view adds its own while it is shown; `?` lists all that work now.
import { signal, useEffect } from "./html.js";
import { address, go } from "./router.js";

/** @typedef {{keys:string, words:string, act:(event:KeyboardEvent)=>void}} Binding */

/** @type {import("@preact/signals").Signal<Binding[][]>} */
export const bindings = signal([]);
export const helpShown = signal(false);

const GO_WITHIN = 1200;
const PLACES = { o: "", j: "jobs", r: "runs", w: "workers", d: "decisions", y: "system", s: "settings", a: "audit" };

let going = -Infinity;

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.metaKey || event.altKey) return;
  const target = /** @type {HTMLElement} */ (event.target);
  const typing = target.matches?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
  if (event.key === "Escape" && typing) {
    target.blur();
    return;
  }
  if (typing || event.ctrlKey || document.querySelector("dialog[open]")) return;
  const now = performance.now();
  if (now - going < GO_WITHIN && event.key in PLACES) {
    going = -Infinity;
    event.preventDefault();
    go(address(PLACES[event.key] ? [PLACES[event.key]] : []));
    return;
  }
  going = -Infinity;
  if (event.key === "g") {
    going = now;
    return;
  }
  if (event.key === "?") {
    helpShown.value = true;
    event.preventDefault();
    return;
  }
  for (const group of [...bindings.value].reverse()) {
    const found = group.find((binding) => binding.keys.split(" ").includes(event.key));
    if (found) {
      event.preventDefault();
      found.act(event);
      return;
    }
  }
});

/** @param {Binding[]} own @param {any[]} depends */
export function useKeys(own, depends) {
  useEffect(() => {
    bindings.value = [...bindings.value, own];
    return () => {
      bindings.value = bindings.value.filter((group) => group !== own);
    };
  }, depends);
}

export const EVERYWHERE = [
  ["?", "these keys"],
  ["/", "search and filter jobs"],
  ["g o", "overview"],
  ["g j", "jobs"],
  ["g r", "runs"],
  ["g w", "workers"],
  ["g d", "decisions"],
  ["g y", "system"],
  ["g s", "settings"],
  ["g a", "audit"],
  ["t", "dark or light"],
  ["Esc", "leave a field, close a dialog"],
];
