// The jobs of a run as a graph, from left to right. The layout comes from a thread of its own.
import { count, plain } from "../format.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { STATES } from "../parts.js";
import { Board, colours } from "./board.js";

const WIDE = 128;
const HIGH = 26;
const ACROSS = 162;
const DOWN = 36;
/** More than these are not told apart by eye, and would take longer than a frame. */
const EDGES_DRAWN_MAX = 2500;
const WORSE = ["failed", "dead_lettered", "running", "offered", "ready", "delayed", "waiting", "skipped", "cancelled", "completed"];

const LAYOUT = "/ui/assets/app/threads/layout.js";
const policy = window.trustedTypes?.createPolicy("bellwether", {
  createScriptURL: (url) => {
    if (url !== LAYOUT) throw new TypeError("no other script runs here");
    return url;
  },
});

/** @param {{graph:any, grouped:boolean, onPick:(job:number)=>void, onLayout:(layout:any)=>void, height?:number}} props */
export function Dag({ graph, grouped, onPick, onLayout, height = 460 }) {
  const canvas = useRef(null);
  const [tip, setTip] = useState("");
  const state = useRef(/** @type {any} */ ({ layout: null, scale: 1, x: 0, y: 0 }));
  const board = useRef(/** @type {Board|null} */ (null));
  const shape = `${graph.id} ${graph.job.length} ${grouped} ${graph.ended.filter(Boolean).length}`;
  useEffect(() => {
    const worker = new Worker(/** @type {any} */ (policy ? policy.createScriptURL(LAYOUT) : LAYOUT));
    worker.onmessage = ({ data }) => {
      const s = state.current;
      const another = !s.layout || s.layout.members.length !== data.members.length;
      s.layout = data;
      if (another) fit(s, canvas.current);
      canvas.current.dataset.layout = data.took.toFixed(1);
      canvas.current.dataset.nodes = data.members.length;
      onLayout(data);
      board.current?.redraw();
      worker.terminate();
    };
    worker.postMessage({ grouped, dependencies: graph.dependencies, type: graph.type, ended: graph.ended, started: graph.started });
    return () => worker.terminate();
  }, [shape]);
  useEffect(() => {
    state.current.graph = graph;
    board.current?.redraw();
  }, [graph]);
  useEffect(() => {
    const s = state.current;
    s.graph = graph;
    board.current = new Board(canvas.current, (context, width, high) => s.layout && draw(context, width, high, s));
    board.current.steer({
      zoom: (factor, x, y) => {
        const next = Math.max(0.02, Math.min(3, s.scale * factor));
        s.x = x - ((x - s.x) * next) / s.scale;
        s.y = y - ((y - s.y) * next) / s.scale;
        s.scale = next;
      },
      move: (dx, dy) => {
        s.x += dx;
        s.y += dy;
      },
      hover: (x, y) => {
        s.over = nodeAt(s, x, y);
        setTip(s.over === null ? "" : words(s, s.over));
      },
      pick: (x, y) => {
        const node = nodeAt(s, x, y);
        if (node !== null) onPick(s.layout.members[node][0]);
      },
      reset: () => fit(s, canvas.current),
    });
    return () => board.current.end();
  }, []);
  return html`<div><canvas ref=${canvas} class="board dag" tabindex="0" role="img" style=${{ height: `${height}px` }}
      aria-label=${`The run as a graph of ${graph.job.length} jobs. Arrow keys move, plus and minus zoom, zero shows all.`}></canvas>
    <p class="tip">${plain(tip) || "Click a job to open it. The outlined jobs are the critical path."}</p></div>`;
}

const stateOf = (s, node) => {
  const of = s.layout.members[node].map((job) => s.graph.state[job]);
  return WORSE.find((state) => of.includes(state)) || "waiting";
};

function words(s, node) {
  const members = s.layout.members[node];
  const name = members.length > 1 ? `${s.graph.node[members[0]]} and ${count(members.length - 1)} like it` : s.graph.node[members[0]];
  return `${name}: ${STATES[stateOf(s, node)].word}, type ${s.graph.types[s.graph.type[members[0]]]}`;
}

function fit(s, canvas) {
  const wide = (s.layout.deepest + 1) * ACROSS;
  const high = s.layout.widest * DOWN;
  s.scale = Math.max(0.02, Math.min(1, (canvas.clientWidth - 20) / wide, (canvas.clientHeight - 20) / high));
  s.x = Math.max(10, (canvas.clientWidth - wide * s.scale) / 2);
  s.y = canvas.clientHeight / 2;
}

function nodeAt(s, x, y) {
  if (!s.layout) return null;
  const { layer, row } = s.layout;
  const gx = (x - s.x) / s.scale;
  const gy = (y - s.y) / s.scale;
  for (let node = 0; node < layer.length; node += 1) {
    const dx = gx - layer[node] * ACROSS;
    if (dx >= 0 && dx <= WIDE && Math.abs(gy - row[node] * DOWN) <= HIGH / 2) return node;
  }
  return null;
}

function draw(context, width, height, s) {
  const paint = colours();
  const { layer, row, edges, members, onPath } = s.layout;
  const { scale } = s;
  const X = (node) => s.x + layer[node] * ACROSS * scale;
  const Y = (node) => s.y + row[node] * DOWN * scale;
  const seen = (node) => X(node) > -WIDE * scale && X(node) < width && Y(node) > -HIGH && Y(node) < height + HIGH;
  const skip = Math.max(1, Math.ceil(edges.length / 2 / EDGES_DRAWN_MAX));
  context.lineWidth = Math.max(0.5, Math.min(1.2, scale));
  for (const critical of [false, true]) {
    context.strokeStyle = critical ? paint.ink : paint.line;
    context.beginPath();
    for (let i = 0; i < edges.length; i += 2 * (critical ? 1 : skip)) {
      const from = edges[i];
      const to = edges[i + 1];
      if ((onPath[from] && onPath[to]) !== critical || (!seen(from) && !seen(to))) continue;
      const x0 = X(from) + WIDE * scale;
      const x1 = X(to);
      const middle = (x0 + x1) / 2;
      context.moveTo(x0, Y(from));
      if (scale > 0.25) context.bezierCurveTo(middle, Y(from), middle, Y(to), x1, Y(to));
      else context.lineTo(x1, Y(to));
    }
    context.stroke();
  }
  const wide = WIDE * scale;
  const high = Math.max(1.5, HIGH * scale);
  const text = scale > 0.4;
  context.font = `${Math.max(8, Math.round(12.5 * scale))}px ui-sans-serif, system-ui, sans-serif`;
  context.textBaseline = "middle";
  for (let node = 0; node < members.length; node += 1) {
    if (!seen(node)) continue;
    const x = X(node);
    const y = Y(node) - high / 2;
    const { tone, sign } = STATES[stateOf(s, node)];
    context.fillStyle = text ? paint.panel : paint[tone];
    context.fillRect(x, y, wide, high);
    if (text) {
      context.fillStyle = paint[tone];
      context.fillRect(x, y, 4 * scale, high);
      context.strokeStyle = onPath[node] || node === s.over ? paint.ink : paint.line;
      context.lineWidth = onPath[node] ? 1.6 : 1;
      context.strokeRect(x, y, wide, high);
      context.fillText(sign, x + 9 * scale, y + high / 2);
      context.fillStyle = paint.ink;
      const many = members[node].length > 1 ? ` ×${members[node].length}` : "";
      const name = plain(s.graph.node[members[node][0]]);
      const room = 15 - many.length;
      context.fillText((name.length > room ? `${name.slice(0, room - 1)}…` : name) + many, x + 25 * scale, y + high / 2);
    }
  }
}
