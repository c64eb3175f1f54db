// A canvas that is zoomed and moved by mouse, wheel and keys, and drawn once a frame at most.

/** Colours of the page, as the canvas needs them. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["ink", "soft", "line", "edge", "panel", "sunk", "accent", "good", "info", "warn", "bad", "hold", "mute"];
  return Object.fromEntries(names.map((name) => [name, read(name)]));
}

export class Board {
  /** @param {HTMLCanvasElement} canvas @param {(context:CanvasRenderingContext2D, width:number, height:number)=>void} draw */
  constructor(canvas, draw) {
    this.canvas = canvas;
    this.draw = draw;
    this.asked = 0;
    /** How long drawings took, for those who measure. */
    this.times = [];
    this.watch = new ResizeObserver(() => this.redraw());
    this.watch.observe(canvas);
  }

  redraw() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      const begun = performance.now();
      const { canvas } = this;
      const scale = Math.min(2, devicePixelRatio || 1);
      const width = canvas.clientWidth;
      const height = canvas.clientHeight;
      if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(height * scale);
      }
      const context = canvas.getContext("2d");
      context.setTransform(scale, 0, 0, scale, 0, 0);
      context.clearRect(0, 0, width, height);
      this.draw(context, width, height);
      this.times = [...this.times.slice(-200), performance.now() - begun].sort((a, b) => a - b);
      canvas.dataset.longest = this.times.at(-1).toFixed(1);
      canvas.dataset.usual = this.times[this.times.length >> 1].toFixed(1);
    });
  }

  /**
   * @param {{zoom:(factor:number,x:number,y:number)=>void, move:(dx:number,dy:number)=>void, hover:(x:number,y:number)=>void,
   *   pick?:(x:number,y:number)=>void, reset?:()=>void}} acts
   */
  steer(acts) {
    const { canvas } = this;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    let held = null;
    let moved = false;
    const on = (name, act, options) => canvas.addEventListener(name, act, options);
    on("wheel", (event) => {
      event.preventDefault();
      const [x, y] = place(event);
      if (event.shiftKey) acts.move(-event.deltaY, 0);
      else acts.zoom(Math.exp(-event.deltaY * 0.0015), x, y);
      this.redraw();
    }, { passive: false });
    on("pointerdown", (event) => {
      held = place(event);
      moved = false;
      canvas.setPointerCapture(event.pointerId);
    });
    on("pointermove", (event) => {
      const [x, y] = place(event);
      if (held) {
        moved ||= Math.abs(x - held[0]) + Math.abs(y - held[1]) > 4;
        acts.move(x - held[0], y - held[1]);
        held = [x, y];
      } else acts.hover(x, y);
      this.redraw();
    });
    on("pointerup", (event) => {
      const [x, y] = place(event);
      if (held && !moved) acts.pick?.(x, y);
      held = null;
    });
    on("keydown", (event) => {
      const step = 60;
      const zoom = (factor) => acts.zoom(factor, canvas.clientWidth / 2, canvas.clientHeight / 2);
      const known = {
        ArrowLeft: () => acts.move(step, 0), ArrowRight: () => acts.move(-step, 0), ArrowUp: () => acts.move(0, step), ArrowDown: () => acts.move(0, -step),
        "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: () => acts.reset?.(),
      }[event.key];
      if (!known || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      known();
      this.redraw();
    });
  }

  end() {
    this.watch.disconnect();
    cancelAnimationFrame(this.asked);
  }
}
