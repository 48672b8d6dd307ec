// Times in the browser's zone.

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

/** Shows the times below `root` in the browser's zone; the server decides which day is today. */
export function localiseTimes(root: ParentNode): void {
  const server = Number(document.querySelector<HTMLElement>("[data-now]")?.dataset["now"]);
  const today = new Date(server || Date.now()).toDateString();
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
}
