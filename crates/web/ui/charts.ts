// Draws the charts of the overview again, in the boxes in which the server drew them, and lets them grow. Without script
// the pictures that the server drew stay.

import uPlot from "uplot";

import { type Front, type Gap, gapsOf, grid, isFront, pointsOf } from "./points";

/** Distances within a picture, in pixels: left of the values, right of them for names, above for the names of gaps. */
const PADDING: [number, number, number, number] = [18, 62, 0, 0];
/** The least distance between two names. */
const APART = 12;
/** A gap that is narrower has no room for its name. */
const NAMED = 40;
/** As the server draws it. */
const RATIO = 200 / 352;

interface Answer {
  window: string;
  step_seconds: number;
  series: unknown[];
}

/** How one chart reads its values, and how they are scaled. */
interface Kind {
  value: (front: Front, index: number, step: number) => number | null;
  range: (highest: number) => [number, number];
  splits: (top: number) => number[];
  label: (value: number) => string;
  log?: true;
}

const KINDS: Record<string, Kind> = {
  calls: {
    value: (front, index, step) =>
      ((front.answered[index]! + front.refused[index]! + front.failed[index]! + front.timed_out[index]!) * 60) / step,
    range: (highest) => [0, ceiling(Math.max(highest, 1))],
    splits: (top) => [0, top / 2, top],
    label: (value) => value.toLocaleString("en-GB"),
  },
  times: {
    value: (front, index) => (front.p95_ms[index] == null ? null : Math.min(Math.max(front.p95_ms[index] / 1000, 0.001), 10)),
    range: () => [0.001, 10],
    splits: () => [0.001, 0.01, 0.1, 1, 10],
    label: (value) => (value >= 1 ? `${value} s` : value === 0.001 ? "1 ms" : String(Math.round(value * 1000))),
    log: true,
  },
  fill: {
    value: (front, index) => front.fill_pct[index] ?? null,
    range: () => [0, 100],
    splits: () => [0, 25, 50, 75, 100],
    label: String,
  },
};

const DASHES: Record<string, number[]> = { search: [6, 3], news: [2, 2.5] };

// The smallest of 1, 2, 5, 10, … that is not below this.
function ceiling(value: number): number {
  for (let unit = 1; unit < 1e15; unit *= 10) {
    for (const factor of [1, 2, 5]) if (unit * factor >= value) return unit * factor;
  }
  return value;
}

// Colours are those of the theme at the moment of drawing.
function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

class Charts {
  readonly #root: HTMLElement;
  readonly #drawn = new Map<string, { plot: uPlot; gaps: Gap[]; names: string[] }>();
  #fronts: Front[] = [];
  #step = 10;
  #window = "1h";
  #reading = false;

  constructor(root: HTMLElement) {
    this.#root = root;
  }

  async start(): Promise<void> {
    await this.#read();
    document.addEventListener("weir:points", (event) => void this.#grow((event as CustomEvent<unknown>).detail));
    const redraw = (): void => this.#drawn.forEach(({ plot }) => plot.redraw(false, true));
    new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    const sizes = new ResizeObserver((entries) => {
      for (const { target } of entries) this.#fit(target as HTMLElement);
    });
    for (const box of this.#boxes()) sizes.observe(box);
  }

  #boxes(): HTMLElement[] {
    return [...this.#root.querySelectorAll<HTMLElement>("[data-chart]")];
  }

  // Reads everything anew. What cannot be read leaves the pictures as they are.
  async #read(): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    try {
      const answer = await fetch(this.#root.dataset["series"] ?? "");
      if (!answer.ok) return;
      const read = (await answer.json()) as Answer;
      this.#fronts = read.series.filter(isFront);
      this.#step = read.step_seconds;
      this.#window = read.window;
      this.#draw();
    } catch {
      // The next point brings another try.
    } finally {
      this.#reading = false;
    }
  }

  // A new point of each front. Longer windows have longer steps: they are read again when one is over.
  async #grow(detail: unknown): Promise<void> {
    const points = pointsOf(detail);
    const newest = Math.max(...points.map((point) => point.at), 0);
    const last = Math.max(...this.#fronts.map((front) => front.at.at(-1) ?? 0), 0);
    if (newest <= last) return;
    const known = points.every((point) => this.#fronts.some((front) => front.front === point.front));
    // After a cut or a stop points are missing, and the server knows why.
    if (this.#step > 10 || !known || newest - last > this.#step * 1.5) {
      if (newest - last >= this.#step) await this.#read();
      return;
    }
    for (const front of this.#fronts) {
      const point = points.find((one) => one.front === front.front);
      if (point) front.add(point, this.#step);
    }
    this.#draw();
  }

  #draw(): void {
    for (const box of this.#boxes()) {
      const kind = KINDS[box.dataset["chart"] ?? ""];
      if (kind) this.#drawOne(box, kind);
    }
  }

  #drawOne(box: HTMLElement, kind: Kind): void {
    const id = box.dataset["chart"] ?? "";
    const shown = (box.dataset["lines"] ?? "").split(" ");
    const fronts = this.#fronts.filter((front) => shown.includes(front.front));
    const { times, columns } = grid(fronts, this.#step, (front, index) => kind.value(front, index, this.#step));
    if (times.length < 2) return;
    const gaps = gapsOf(fronts, times, columns, this.#step);
    const data: uPlot.AlignedData = [times, ...columns];
    const names = fronts.map((front) => front.front);
    const there = this.#drawn.get(id);
    if (there && there.names.join() === names.join()) {
      there.gaps = gaps;
      there.plot.setData(data);
      return;
    }
    there?.plot.destroy();
    const state = { gaps, names, plot: undefined as unknown as uPlot };
    const options = this.#options(box, kind, fronts, () => state.gaps);
    box.replaceChildren();
    state.plot = new uPlot(options, data, box);
    this.#drawn.set(id, state);
  }

  #options(box: HTMLElement, kind: Kind, fronts: Front[], gaps: () => Gap[]): uPlot.Options {
    const marks = (box.dataset["marks"] ?? "").split(",").filter((mark) => mark !== "");
    const font = `11px ${token("sans")}`;
    const highest = (plot: uPlot): number => {
      const values = plot.data.slice(1).flatMap((column) => [...column].filter((value) => value != null));
      return values.reduce<number>((most, value) => Math.max(most, value), 0);
    };
    return {
      ...this.#size(box),
      padding: PADDING,
      legend: { show: false },
      cursor: { show: false },
      series: [
        {},
        ...fronts.map(({ front, title }) => ({
          label: title,
          stroke: () => token(front),
          width: 1.7,
          dash: DASHES[front] ?? [],
          spanGaps: false,
          points: { show: false },
        })),
      ],
      scales: {
        x: { time: true, range: () => this.#span() },
        y: kind.log ? { distr: 3, log: 10, range: () => kind.range(0) } : { range: (plot) => kind.range(highest(plot)) },
      },
      axes: [
        {
          stroke: () => token("text-3"),
          font,
          size: 26,
          gap: 4,
          grid: { show: false },
          ticks: { show: false },
          splits: () => {
            const [from, to] = this.#span();
            return [0, 1, 2, 3].map((part) => from + ((to - from) * part) / 3);
          },
          values: (_, splits) => splits.map((at) => this.#time(at)),
        },
        {
          stroke: () => token("text-3"),
          font,
          size: 36,
          gap: 5,
          grid: { stroke: () => token("line"), width: 1 },
          ticks: { show: false },
          splits: (plot) => kind.splits(plot.scales["y"]?.max ?? 1),
          values: (_, splits) => splits.map(kind.label),
        },
      ],
      hooks: {
        drawAxes: [(plot) => hatch(plot, gaps())],
        draw: [
          (plot) => {
            for (const mark of marks) drawMark(plot, mark, font);
            nameLines(plot, fronts, font);
          },
        ],
      },
    };
  }

  #span(): [number, number] {
    const to = Math.max(...this.#fronts.map((front) => front.to), 0);
    const from = Math.max(...this.#fronts.map((front) => front.from), 0);
    return [from, to];
  }

  #time(at: number): string {
    const date = new Date(at * 1000);
    return this.#window === "7d"
      ? date.toLocaleDateString("en-GB", { day: "numeric", month: "short" }).replace("Sept", "Sep")
      : date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  }

  #size(box: HTMLElement): { width: number; height: number } {
    const width = Math.max(box.clientWidth, 120);
    return { width, height: Math.floor(width * RATIO) };
  }

  #fit(box: HTMLElement): void {
    const plot = this.#drawn.get(box.dataset["chart"] ?? "")?.plot;
    const size = this.#size(box);
    if (plot && plot.width !== size.width) plot.setSize(size);
  }
}

// Stretches without a value, hatched, with their names above if there is room.
function hatch(plot: uPlot, gaps: Gap[]): void {
  const { ctx } = plot;
  const { left, top, width, height } = plot.bbox;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.lineWidth = 1.2 * scale;
  ctx.font = `${11 * scale}px ${token("sans")}`;
  ctx.textAlign = "center";
  for (const { from, to, why } of gaps) {
    const begin = Math.max(plot.valToPos(from, "x", true), left);
    const end = Math.min(plot.valToPos(to, "x", true), left + width);
    if (end <= begin) continue;
    ctx.save();
    ctx.beginPath();
    ctx.rect(begin, top, end - begin, height);
    ctx.clip();
    ctx.strokeStyle = token("line");
    ctx.beginPath();
    for (let x = begin - height; x < end; x += 6 * scale) {
      ctx.moveTo(x, top + height);
      ctx.lineTo(x + height, top);
    }
    ctx.stroke();
    ctx.restore();
    if (end - begin < NAMED * scale) continue;
    ctx.fillStyle = token("text-3");
    ctx.fillText(why, (begin + end) / 2, top - 6 * scale);
  }
  ctx.restore();
}

// A dotted line at a threshold: `60 top-N`.
function drawMark(plot: uPlot, mark: string, font: string): void {
  const [at = "", ...name] = mark.split(" ");
  const y = plot.valToPos(Number(at), "y", true);
  const { ctx } = plot;
  const { left, width } = plot.bbox;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = token("cooldown");
  ctx.lineWidth = 1.2 * devicePixelRatio;
  ctx.setLineDash([1.5, 2.5].map((length) => length * devicePixelRatio));
  ctx.beginPath();
  ctx.moveTo(left, y);
  ctx.lineTo(left + width, y);
  ctx.stroke();
  write(ctx, name.join(" "), left + width, y, font, "");
  ctx.restore();
}

function write(ctx: CanvasRenderingContext2D, text: string, x: number, y: number, font: string, weight: string): void {
  ctx.font = `${weight} ${font.replace("11px", `${11 * devicePixelRatio}px`)}`.trim();
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillText(text, x + 5 * devicePixelRatio, y);
}

// Each line's name at its end; none lies over another.
function nameLines(plot: uPlot, fronts: Front[], font: string): void {
  const { left, top, width, height } = plot.bbox;
  const ends = fronts.map(({ front, title }, index) => {
    const values = [...(plot.data[index + 1] ?? [])];
    const last = values.findLast((value) => value != null) ?? plot.scales["y"]?.min ?? 0;
    return { front, title, y: plot.valToPos(last, "y", true) };
  });
  ends.sort((one, other) => one.y - other.y);
  let least = top;
  for (const end of ends) {
    end.y = Math.max(end.y, least);
    least = end.y + APART * devicePixelRatio;
  }
  let most = top + height;
  for (const end of ends.reverse()) {
    end.y = Math.min(end.y, most);
    most = end.y - APART * devicePixelRatio;
  }
  const { ctx } = plot;
  ctx.save();
  for (const { front, title, y } of ends) {
    ctx.fillStyle = token(front);
    write(ctx, title, left + width, y, font, "600");
  }
  ctx.restore();
}

/** Draws the charts of this page, if it has any, over those that the server drew. */
export function drawCharts(): void {
  for (const root of document.querySelectorAll<HTMLElement>("[data-series]")) void new Charts(root).start();
}
