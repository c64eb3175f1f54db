// The jobs of a run as a graph, to the right or down, whichever shows it larger. The layout comes from a thread of its own.
import { count, plain } from "../format.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { STATES } from "../parts.js";
import { Board, colours } from "./board.js";

const WIDE = 128;
const HIGH = 26;
/** From layer to layer and from job to job, where layers go to the right and where they go down. */
const RIGHT = { layer: 162, job: 36 };
const BELOW = { layer: 64, job: 142 };
/** More than these are not told apart by eye, and would take longer than a frame. */
const EDGES_DRAWN_MAX = 2500;
const WORSE = ["failed", "dead_lettered", "running", "offered", "ready", "delayed", "waiting", "skipped", "cancelled", "completed"];

const LAYOUT = "/ui/assets/app/threads/layout.js";
const policy = /** @type {any} */ (window).trustedTypes?.createPolicy("bellwether", {
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

/** The way that shows it larger. */
function fit(s, canvas) {
  const layers = s.layout.deepest + 1;
  const { widest } = s.layout;
  const room = [canvas.clientWidth - 24, canvas.clientHeight - 24];
  const right = Math.min(room[0] / (layers * RIGHT.layer), room[1] / (widest * RIGHT.job));
  const below = Math.min(room[0] / (widest * BELOW.job), room[1] / (layers * BELOW.layer));
  s.below = below > right;
  s.scale = Math.max(0.02, Math.min(1.1, Math.max(right, below)));
  const long = layers * (s.below ? BELOW.layer : RIGHT.layer) * s.scale;
  if (s.below) {
    s.x = canvas.clientWidth / 2 - (WIDE / 2) * s.scale;
    s.y = Math.max(12, (canvas.clientHeight - long) / 2) + (HIGH / 2) * s.scale;
  } else {
    s.x = Math.max(12, (canvas.clientWidth - long) / 2);
    s.y = canvas.clientHeight / 2;
  }
}

/** Where a job is: the left of its box, and the middle of its height. */
const left = (s, node) => (s.below ? s.layout.row[node] * BELOW.job : s.layout.layer[node] * RIGHT.layer);
const middle = (s, node) => (s.below ? s.layout.layer[node] * BELOW.layer : s.layout.row[node] * RIGHT.job);

function nodeAt(s, x, y) {
  if (!s.layout) return null;
  const gx = (x - s.x) / s.scale;
  const gy = (y - s.y) / s.scale;
  for (let node = 0; node < s.layout.members.length; node += 1) {
    const dx = gx - left(s, node);
    if (dx >= 0 && dx <= WIDE && Math.abs(gy - middle(s, node)) <= HIGH / 2) return node;
  }
  return null;
}

function draw(context, width, height, s) {
  const paint = colours();
  const { edges, members, onPath } = s.layout;
  const { scale } = s;
  const X = (node) => s.x + left(s, node) * scale;
  const Y = (node) => s.y + middle(s, node) * scale;
  const seen = (node) => X(node) > -WIDE * scale && X(node) < width && Y(node) > -HIGH && Y(node) < height + HIGH;
  const skip = Math.max(1, Math.ceil(edges.length / 2 / EDGES_DRAWN_MAX));
  context.lineWidth = Math.max(0.5, Math.min(1.2, scale));
  for (const critical of [false, true]) {
    context.strokeStyle = critical ? paint.ink : paint.edge;
    context.beginPath();
    for (let i = 0; i < edges.length; i += 2 * (critical ? 1 : skip)) {
      const from = edges[i];
      const to = edges[i + 1];
      if ((onPath[from] && onPath[to]) !== critical || (!seen(from) && !seen(to))) continue;
      const x0 = X(from) + (s.below ? WIDE / 2 : WIDE) * scale;
      const y0 = Y(from) + (s.below ? HIGH / 2 : 0) * scale;
      const x1 = X(to) + (s.below ? WIDE / 2 : 0) * scale;
      const y1 = Y(to) - (s.below ? HIGH / 2 : 0) * scale;
      context.moveTo(x0, y0);
      if (scale <= 0.25) context.lineTo(x1, y1);
      else if (s.below) context.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
      else context.bezierCurveTo((x0 + x1) / 2, y0, (x0 + x1) / 2, y1, x1, y1);
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
