// The layout of a run, off the thread that draws: layers by the longest way to a job, order within them by where
// a job's neighbours are, and the path that the run's end waited for.

const SWEEPS = 4;
const GROUP_MIN = 6;

self.onmessage = ({ data }) => {
  const begun = performance.now();
  const graph = data.grouped ? group(data) : single(data);
  const layer = layers(graph);
  const rows = order(graph, layer);
  const critical = criticalPath(data);
  const onPath = graph.members.map((members) => members.some((job) => critical.has(job)));
  const edges = [];
  graph.parents.forEach((parents, node) => parents.forEach((parent) => edges.push(parent, node)));
  self.postMessage({
    ask: data.ask, layer, row: rows.row, widest: rows.widest, deepest: rows.deepest, members: graph.members, edges: Uint32Array.from(edges),
    critical: [...critical], onPath, took: performance.now() - begun,
  });
};

function single({ dependencies }) {
  return { parents: dependencies, members: dependencies.map((_, i) => [i]) };
}

/** Jobs of one type that wait for the same and are waited for by the same are one. */
function group({ dependencies, type }) {
  const children = dependencies.map(() => []);
  dependencies.forEach((parents, job) => parents.forEach((parent) => children[parent].push(job)));
  const alike = new Map();
  dependencies.forEach((parents, job) => {
    const key = `${type[job]}|${parents.join(",")}|${children[job].join(",")}`;
    const known = alike.get(key);
    if (known) known.push(job);
    else alike.set(key, [job]);
  });
  const members = [];
  const nodeOf = new Uint32Array(dependencies.length);
  for (const jobs of alike.values()) {
    const sets = jobs.length >= GROUP_MIN ? [jobs] : jobs.map((job) => [job]);
    for (const set of sets) {
      set.forEach((job) => (nodeOf[job] = members.length));
      members.push(set);
    }
  }
  const parents = members.map((jobs) => [...new Set(dependencies[jobs[0]].map((parent) => nodeOf[parent]))]);
  return { parents, members };
}

function layers({ parents }) {
  const count = parents.length;
  const children = Array.from({ length: count }, () => []);
  const open = new Uint32Array(count);
  parents.forEach((list, node) => {
    open[node] = list.length;
    list.forEach((parent) => children[parent].push(node));
  });
  const layer = new Uint32Array(count);
  const queue = [];
  for (let node = 0; node < count; node += 1) if (!open[node]) queue.push(node);
  for (let next = 0; next < queue.length; next += 1) {
    const node = queue[next];
    for (const child of children[node]) {
      layer[child] = Math.max(layer[child], layer[node] + 1);
      open[child] -= 1;
      if (!open[child]) queue.push(child);
    }
  }
  return layer;
}

function order({ parents }, layer) {
  const deepest = layer.reduce((most, n) => Math.max(most, n), 0);
  const list = Array.from({ length: deepest + 1 }, () => []);
  layer.forEach((n, node) => list[n].push(node));
  const children = parents.map(() => []);
  parents.forEach((of, node) => of.forEach((parent) => children[parent].push(node)));
  const row = new Float64Array(parents.length);
  list.forEach((nodes) => nodes.forEach((node, i) => (row[node] = i - (nodes.length - 1) / 2)));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0;
    for (let k = 0; k <= deepest; k += 1) {
      const nodes = list[down ? k : deepest - k];
      const weight = new Map();
      for (const node of nodes) {
        const near = down ? parents[node] : children[node];
        weight.set(node, near.length ? near.reduce((sum, other) => sum + row[other], 0) / near.length : row[node]);
      }
      nodes.sort((a, b) => weight.get(a) - weight.get(b) || a - b);
      nodes.forEach((node, i) => (row[node] = i - (nodes.length - 1) / 2));
    }
  }
  const widest = Math.max(1, ...list.map((nodes) => nodes.length));
  return { row, widest, deepest };
}

/** From the job that ended last back over the dependency that ended last. */
function criticalPath({ dependencies, ended, started }) {
  const end = (job) => ended[job] || (started[job] ? Infinity : 0);
  let last = -1;
  for (let job = 0; job < dependencies.length; job += 1) if (last < 0 || end(job) > end(last)) last = job;
  const path = new Set();
  while (last >= 0 && end(last) > 0) {
    path.add(last);
    const before = dependencies[last];
    last = before.length ? before.reduce((latest, job) => (end(job) > end(latest) ? job : latest), before[0]) : -1;
    if (path.has(last)) break;
  }
  return path;
}
