// Bars in lanes over time: the task stream of workers, and the Gantt chart of a run. However many bars there are,
// those that fall on one pixel of a lane are drawn once.
import { clock, plain, span } from "../format.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { STATES } from "../parts.js";
import { Board, colours } from "./board.js";

const LANE = 16;
const LABELS = 132;
const AXIS = 20;

/**
 * @typedef {{lane:number, from:number, to:number, state:string, label:string, id?:string, mark?:boolean}} Bar times in milliseconds
 */

/** Bars by lane, in order, in typed arrays. @param {Bar[]} bars @param {number} lanes */
function index(bars, lanes) {
  const order = bars.map((_, i) => i).sort((a, b) => bars[a].lane - bars[b].lane || bars[a].from - bars[b].from);
  const starts = new Uint32Array(lanes + 1);
  for (const bar of bars) starts[bar.lane + 1] += 1;
  for (let i = 0; i < lanes; i += 1) starts[i + 1] += starts[i];
  const from = new Float64Array(bars.length);
  const to = new Float64Array(bars.length);
  order.forEach((i, place) => {
    from[place] = bars[i].from;
    to[place] = bars[i].to;
  });
  return { order, starts, from, to };
}

/**
 * @param {{bars:Bar[], lanes:string[], label:string, height?:number, follow?:boolean, onPick?:(id:string)=>void, from?:number, to?:number}} props
 */
export function Lanes({ bars, lanes, label, height = 320, onPick, follow = false }) {
  const canvas = useRef(null);
  const [tip, setTip] = useState("");
  const state = useRef(/** @type {any} */ ({ view: null, top: 0 }));
  const board = useRef(/** @type {Board|null} */ (null));
  useEffect(() => {
    const s = state.current;
    s.bars = bars;
    s.lanes = lanes;
    s.index = index(bars, lanes.length);
    s.first = bars.reduce((least, bar) => Math.min(least, bar.from), Infinity);
    s.last = bars.reduce((most, bar) => Math.max(most, bar.to), -Infinity);
    if (!s.view || (follow && !s.touched)) s.view = fit(s);
    board.current?.redraw();
  }, [bars, lanes]);
  useEffect(() => {
    const s = state.current;
    const limit = () => {
      s.top = Math.max(0, Math.min(s.top, Math.max(0, s.lanes.length * LANE + AXIS - canvas.current.clientHeight)));
    };
    board.current = new Board(canvas.current, (context, width, height) => draw(context, width, height, s));
    board.current.steer({
      zoom: (factor, x) => {
        s.touched = true;
        const width = canvas.current.clientWidth - LABELS;
        const at = s.view.from + ((x - LABELS) / width) * (s.view.to - s.view.from);
        const room = Math.max(1, (s.view.to - s.view.from) / factor);
        const share = Math.max(0, Math.min(1, (x - LABELS) / width));
        s.view = { from: at - room * share, to: at + room * (1 - share) };
      },
      move: (dx, dy) => {
        s.touched = true;
        const by = (dx / Math.max(1, canvas.current.clientWidth - LABELS)) * (s.view.to - s.view.from);
        s.view = { from: s.view.from - by, to: s.view.to - by };
        s.top -= dy;
        limit();
      },
      hover: (x, y) => {
        const bar = at(s, x, y, canvas.current.clientWidth);
        s.over = bar;
        const words = bar ? `${bar.label}: ${(STATES[bar.state] || {}).word || bar.state}, ${clock(bar.from, true)}, ${span((bar.to - bar.from) / 1000)}` : "";
        setTip(words);
      },
      pick: (x, y) => {
        const bar = at(s, x, y, canvas.current.clientWidth);
        if (bar?.id) onPick?.(bar.id);
      },
      reset: () => {
        s.touched = false;
        s.view = fit(s);
        s.top = 0;
      },
    });
    return () => board.current.end();
  }, []);
  return html`<div><canvas ref=${canvas} class="board lanes" tabindex="0" role="img" style=${{ height: `${height}px` }}
      aria-label=${`${label}: ${bars.length} bars in ${lanes.length} lanes. Arrow keys move, plus and minus zoom, zero shows all.`}></canvas>
    <p class="tip" aria-live="off">${plain(tip) || "Hover for details; wheel or + and − zoom, drag or arrows move, 0 shows all."}</p></div>`;
}

function fit(s) {
  if (!Number.isFinite(s.first)) return { from: Date.now() - 60_000, to: Date.now() };
  const room = Math.max(50, s.last - s.first);
  return { from: s.first - room * 0.02, to: s.last + room * 0.02 };
}

/** The first of a lane that ends after a time: bars of one lane do not overlap. */
function firstAfter(list, low, high, at) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function at(s, x, y, width) {
  const lane = Math.floor((y - AXIS + s.top) / LANE);
  if (x < LABELS || y < AXIS || lane < 0 || lane >= s.lanes.length) return null;
  const time = s.view.from + ((x - LABELS) / (width - LABELS)) * (s.view.to - s.view.from);
  const slack = ((s.view.to - s.view.from) / (width - LABELS)) * 2;
  const { starts, order, from, to } = s.index;
  const place = firstAfter(to, starts[lane], starts[lane + 1], time - slack);
  if (place < starts[lane + 1] && from[place] <= time + slack) return s.bars[order[place]];
  return null;
}

function draw(context, width, height, s) {
  const paint = colours();
  const { view, top } = s;
  const room = width - LABELS;
  const scale = room / (view.to - view.from);
  const { starts, order, from, to } = s.index;
  context.font = "11px ui-sans-serif, system-ui, sans-serif";
  context.textBaseline = "middle";
  const firstLane = Math.max(0, Math.floor(top / LANE));
  const lastLane = Math.min(s.lanes.length, Math.ceil((top + height - AXIS) / LANE));
  context.save();
  context.beginPath();
  context.rect(LABELS, AXIS, room, height - AXIS);
  context.clip();
  axis(context, paint, view, room, height, true);
  let last = "";
  for (let lane = firstLane; lane < lastLane; lane += 1) {
    const y = AXIS + lane * LANE - top;
    let filled = -Infinity;
    for (let place = firstAfter(to, starts[lane], starts[lane + 1], view.from); place < starts[lane + 1]; place += 1) {
      if (from[place] > view.to) break;
      const x0 = LABELS + (from[place] - view.from) * scale;
      const x1 = Math.max(x0 + 1, LABELS + (to[place] - view.from) * scale);
      if (x1 <= filled + 0.5) continue;
      const bar = s.bars[order[place]];
      const tone = (STATES[bar.state] || STATES.running).tone;
      // To set a colour takes longer than to fill a bar with it.
      if (tone !== last) context.fillStyle = paint[tone];
      last = tone;
      context.fillRect(x0, y + 2, x1 - x0 - (x1 - x0 > 3 ? 1 : 0), LANE - 4);
      if (bar.mark) {
        last = "";
        context.fillStyle = paint.ink;
        context.fillRect(x0, y + LANE - 3, x1 - x0, 2);
      }
      if (bar === s.over) {
        context.strokeStyle = paint.ink;
        context.lineWidth = 1.5;
        context.strokeRect(x0, y + 1.5, x1 - x0, LANE - 3);
      }
      filled = x1;
    }
  }
  context.restore();
  let before = "";
  for (let lane = firstLane; lane < lastLane; lane += 1) {
    const y = AXIS + lane * LANE - top + LANE / 2;
    if (y < AXIS + 4) continue;
    const name = s.lanes[lane];
    if (name === before) continue;
    before = name;
    context.fillStyle = paint.soft;
    context.fillText(cut(name), 8, y);
  }
  axis(context, paint, view, room, height, false);
}

const cut = (text) => {
  const shown = plain(text);
  return shown.length > 19 ? `${shown.slice(0, 9)}…${shown.slice(-9)}` : shown;
};

const STEPS = [1, 5, 10, 50, 100, 500, 1000, 5000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 14_400_000, 86_400_000];

function axis(context, paint, view, room, height, lines) {
  const wanted = (view.to - view.from) / Math.max(1, room / 110);
  const step = STEPS.find((candidate) => candidate >= wanted) || STEPS.at(-1);
  const scale = room / (view.to - view.from);
  for (let at = Math.ceil(view.from / step) * step, n = 0; at < view.to && n < 200; at += step, n += 1) {
    const x = LABELS + (at - view.from) * scale;
    if (lines) {
      context.fillStyle = paint.line;
      context.fillRect(x, AXIS, 1, height);
    } else {
      context.fillStyle = paint.soft;
      context.fillText(clock(at, step < 1000), x + 3, AXIS / 2);
    }
  }
}
