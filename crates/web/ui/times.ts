// Times in the browser's zone, and how long until they come.

const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
const DAY = { weekday: "short", day: "numeric", month: "short" } as const;
const DATE = { day: "numeric", month: "short" } as const;
const YEAR = { year: "numeric" } as const;

// Pages that are written once never say "today"; each time says in which form it is shown.
const FORMS: Record<string, [Intl.DateTimeFormatOptions | null, boolean]> = {
  d: [DAY, true],
  dy: [{ ...DAY, ...YEAR }, true],
  s: [DATE, true],
  m: [DATE, false],
  my: [{ ...DATE, ...YEAR }, false],
  c: [null, true],
};

// As the server writes it: without a comma, and with three letters of each month.
function dated(at: Date, form: Intl.DateTimeFormatOptions): string {
  return at.toLocaleDateString("en-GB", form).replace(",", "").replace("Sept", "Sep");
}

function formed(at: Date, form: string): string | undefined {
  const [day, clock] = FORMS[form] ?? [null, false];
  const parts = [
    day ? dated(at, day) : "",
    clock ? at.toLocaleTimeString("en-GB", CLOCK) : "",
  ];
  return parts.filter((part) => part !== "").join(", ") || undefined;
}

const loaded = performance.now();

/** The server's clock: the browser's may be wrong, but it runs at the same speed. */
export function serverNow(): number {
  const now = Number(document.querySelector<HTMLElement>("[data-now]")?.dataset["now"]);
  return now ? now + performance.now() - loaded : Date.now();
}

// `6 min`, as the server writes it.
function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 7200) return `${Math.ceil(seconds / 60)} min`;
  return `${Math.ceil(seconds / 3600)} h`;
}

function tellLeft(root: ParentNode): void {
  const server = serverNow();
  for (const end of root.querySelectorAll<HTMLElement>("[data-until]")) {
    const left = Date.parse(end.dataset["until"] ?? "") - server;
    const text = left > 0 ? `in ${span(left)}` : "in a moment";
    if (end.textContent !== text) end.textContent = text;
  }
}

/** Counts down what the page shows, also what comes later. */
export function countDown(): void {
  if (!document.querySelector("[data-now]")) return;
  tellLeft(document);
  setInterval(() => tellLeft(document), 1000);
}

/** Shows the times below `root` in the browser's zone; the server decides which day is today. */
export function localiseTimes(root: ParentNode): void {
  const today = new Date(serverNow()).toDateString();
  // Text in a picture cannot be a `time`.
  for (const time of root.querySelectorAll<HTMLElement | SVGElement>("time[datetime], [data-time]")) {
    const at = new Date(time.getAttribute("datetime") ?? time.dataset["time"] ?? "");
    if (Number.isNaN(at.getTime())) continue;
    const wanted = formed(at, time.dataset["form"] ?? "");
    if (wanted !== undefined) {
      time.textContent = wanted;
      if (time instanceof HTMLElement) time.title = at.toLocaleString();
      continue;
    }
    const second = "seconds" in time.dataset ? ({ second: "2-digit" } as const) : {};
    const date = at.toDateString() === today ? "" : `${dated(at, DAY)}, `;
    time.textContent = date + at.toLocaleTimeString("en-GB", { ...CLOCK, ...second });
    if (time instanceof HTMLElement) time.title = at.toLocaleString();
  }
  tellLeft(root);
}
