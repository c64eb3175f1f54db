// What a job prints, as it prints it.
import { events, part } from "../api.js";
import { printed } from "../format.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { again } from "../live.js";
import { Copy, Empty, Failure, Panel } from "../parts.js";

/** What is kept in the page. */
const PIECES_MAX = 2000;

export function Logs({ id, ended, attempts }) {
  const [pieces, setPieces] = useState(/** @type {any[]} */ ([]));
  const [error, setError] = useState(null);
  const [follow, setFollow] = useState(true);
  const box = useRef(null);
  useEffect(() => {
    const abort = new AbortController();
    let last = "";
    let fresh = true;
    const read = async () => {
      while (!abort.signal.aborted) {
        try {
          const more = last ? { "last-event-id": last } : {};
          await events(`/jobs/${part(id)}/logs?follow=true`, abort.signal, ({ id: place, data }) => {
            if (place) last = place;
            setPieces((old) => (fresh ? [data] : old.length >= PIECES_MAX ? [...old.slice(-PIECES_MAX / 2), data] : [...old, data]));
            fresh = false;
          }, more);
          setError(null);
          return;
        } catch (why) {
          if (abort.signal.aborted) return;
          setError(why.status ? why : null);
          await new Promise((resolve) => setTimeout(resolve, 1000));
        }
      }
    };
    read();
    return () => abort.abort();
  }, [id, ended, again.value]);
  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [pieces, follow]);
  let attempt = 0;
  const text = (piece) => printed(piece.text ?? `[${piece.base64?.length || 0} characters of base64]\n`);
  return html`<${Panel} title="Output" aside=${html`${ended ? null : html`<button class="quiet" aria-pressed=${follow} onClick=${() => setFollow(!follow)}>follow</button>`}${pieces.length ? html`<${Copy} text=${() => pieces.map(text).join("")} />` : null}`}>
    <${Failure} error=${error} />
    ${pieces.length ? html`<pre ref=${box} tabindex="0" aria-label="output of the job">${pieces.map((piece) => {
      const mark = piece.attempt !== attempt && attempts > 1 ? `attempt ${piece.attempt} on ${piece.worker}\n` : "";
      attempt = piece.attempt;
      return html`${mark ? html`<span class="mark">${mark}</span>` : null}${piece.cut ? html`<span class="mark">[${piece.cut} bytes were cut here]\n</span>` : null}<span class=${piece.stream}>${text(piece)}</span>`;
    })}</pre>` : html`<${Empty}>${ended ? "It printed nothing, or it is no longer kept." : "Nothing was printed yet."}</${Empty}>`}
  </${Panel}>`;
}
