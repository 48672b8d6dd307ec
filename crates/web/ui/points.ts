// Points as the server sends them, and what is missing between them.

/** What is charted of one front, in columns: as many entries as there are steps with a point. */
export class Front {
  front = "";
  title = "";
  from = 0;
  to = 0;
  ran: [number, number][] = [];
  at: number[] = [];
  answered: number[] = [];
  refused: number[] = [];
  failed: number[] = [];
  timed_out: number[] = [];
  p95_ms: (number | null)[] = [];
  fill_pct: number[] = [];

  /** Adds a point; what is now older than the window goes. */
  add(point: Point, step: number): void {
    const length = this.to - this.from;
    for (const column of COLUMNS) (this[column] as (number | null)[]).push(point[column]);
    this.to = point.at + step;
    this.from = this.to - length;
    const last = this.ran.at(-1);
    if (last) last[1] = this.to;
    while ((this.at[0] ?? Infinity) < this.from) for (const column of COLUMNS) this[column].shift();
    while ((this.ran[0]?.[1] ?? Infinity) < this.from) this.ran.shift();
  }
}

const COLUMNS = ["at", "answered", "refused", "failed", "timed_out", "p95_ms", "fill_pct"] as const;

/** One point of one front. */
export interface Point {
  front: string;
  at: number;
  answered: number;
  refused: number;
  failed: number;
  timed_out: number;
  p95_ms: number | null;
  fill_pct: number;
}

/** A stretch without a value. */
export interface Gap {
  from: number;
  to: number;
  why: "no data" | "not asked";
}

/** Takes in what the server sent for one front, and gives it the methods of one. */
export function isFront(read: unknown): read is Front {
  if (typeof read !== "object" || read === null || !("front" in read)) return false;
  Object.setPrototypeOf(read, Front.prototype);
  return COLUMNS.every((column) => Array.isArray((read as Record<string, unknown>)[column]));
}

/** The points of an event. */
export function pointsOf(detail: unknown): Point[] {
  if (typeof detail !== "object" || detail === null || !("points" in detail)) return [];
  return Array.isArray(detail.points) ? (detail.points as Point[]) : [];
}

/** One column of times with a place for each step, and one of values for each front; null is a step without one. */
export function grid(
  fronts: Front[],
  step: number,
  value: (front: Front, index: number) => number | null,
): { times: number[]; columns: (number | null)[][] } {
  const all = new Set(fronts.flatMap((front) => front.at));
  const [first, last] = [Math.min(...all), Math.max(...all)];
  const times: number[] = [];
  // The clocks of browsers and servers may jump; a window has no more than 360 steps.
  for (let at = first; at <= last && times.length < 400; at += step) times.push(at);
  const columns = fronts.map((front) => {
    const column: (number | null)[] = times.map(() => null);
    front.at.forEach((at, index) => {
      const place = Math.round((at - first) / step);
      if (place < column.length) column[place] = value(front, index);
    });
    return column;
  });
  return { times, columns };
}

/** As the server finds them: where Weir was off, and where nothing was asked for a twelfth of the window. */
export function gapsOf(fronts: Front[], times: number[], columns: (number | null)[][], step: number): Gap[] {
  const front = fronts[0];
  if (!front) return [];
  const gaps: Gap[] = [];
  const measured = times.filter((_, index) => columns.some((column) => column[index] != null));
  let at = front.from;
  for (const [from, to] of front.ran) {
    if (to <= front.from) continue;
    if (at < from) gaps.push({ from: at, to: from, why: "no data" });
    let silent = Math.max(from, front.from);
    for (const end of [...measured.filter((time) => time >= silent && time < to), to]) {
      if (end - silent >= (front.to - front.from) / 12) gaps.push({ from: silent, to: end, why: "not asked" });
      silent = end + step;
    }
    at = to;
  }
  if (at + 2 * step < front.to) gaps.push({ from: at, to: front.to, why: "no data" });
  return gaps;
}
