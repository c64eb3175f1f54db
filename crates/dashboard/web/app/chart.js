// Lines over time, drawn by uPlot in the colours of the page.
import { html, useEffect, useRef } from "./html.js";
import { span } from "./format.js";

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * @param {{at:number[], lines:{name:string, tone:string, values:(number|null)[], fill?:boolean}[],
 *   unit?:(n:number)=>string, label:string, height?:number, log?:boolean}} props
 */
export function Lines({ at, lines, unit = String, label, height = 132, log = false }) {
  const box = useRef(null);
  const plot = useRef(null);
  const data = [at, ...lines.map((line) => line.values)];
  useEffect(() => {
    const axis = {
      stroke: style("--soft"), font: "11px ui-sans-serif, system-ui, sans-serif",
      grid: { stroke: style("--line"), width: 1 }, ticks: { show: false },
    };
    const options = {
      width: box.current.clientWidth || 300, height,
      padding: [8, 18, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { size: 5 }, drag: { x: false, y: false } },
      scales: { x: { time: true }, y: log ? { distr: 3, log: 10 } : { range: (_, low, high) => [0, Math.max(1e-9, high) * 1.1 || 1] } },
      axes: [
        { ...axis, size: 22, space: 70 },
        { ...axis, size: 52, space: 28, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : unit(tick))) },
      ],
      series: [{}, ...lines.map((line) => ({
        label: line.name, stroke: style(`--${line.tone}`), width: 1.5, points: { show: false }, spanGaps: false,
        fill: line.fill ? style(`--${line.tone}-wash`) : undefined,
      }))],
      hooks: {
        setCursor: [(u) => {
          const i = u.cursor.idx;
          const tip = box.current?.parentElement.querySelector(".reading");
          if (!tip) return;
          tip.textContent = i === null || i === undefined || !u.data[0].length ? "" :
            `${new Date(u.data[0][i] * 1000).toLocaleTimeString()}  ${lines.map((line, k) => `${line.name} ${u.data[k + 1][i] === null ? "–" : unit(u.data[k + 1][i])}`).join("  ")}`;
        }],
      },
    };
    // @ts-ignore: a classic script that comes before the modules.
    plot.current = new uPlot(options, data, box.current);
    const watch = new ResizeObserver(() => plot.current?.setSize({ width: box.current?.clientWidth || 300, height }));
    watch.observe(box.current);
    return () => {
      watch.disconnect();
      plot.current.destroy();
      plot.current = null;
    };
  }, [document.documentElement.dataset.theme, lines.length, log]);
  useEffect(() => plot.current?.setData(data), [at]);
  const last = lines.map((line) => `${line.name} ${unit(line.values.at(-1) ?? 0)}`).join(", ");
  return html`<figure class="chart" role="img" aria-label=${`${label}; now ${last}`}>
    <div class="legend" aria-hidden="true">${lines.map((line) => html`<span class=${line.tone}><i></i>${line.name} <b>${line.values.at(-1) === null || line.values.at(-1) === undefined ? "–" : unit(line.values.at(-1))}</b></span>`)}
      <span class="reading"></span></div>
    <div ref=${box}></div>
  </figure>`;
}

export const seconds = (n) => span(n);
