// Times in the browser's zone.

const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
const DAY = { weekday: "short", day: "numeric", month: "short" } as const;

/** Shows the times below `root` in the browser's zone; the server decides which day is today. */
export function localiseTimes(root: ParentNode): void {
  const server = Number(document.querySelector<HTMLElement>("[data-now]")?.dataset["now"]);
  const today = new Date(server || Date.now()).toDateString();
  // Text in a picture cannot be a `time`.
  for (const time of root.querySelectorAll<HTMLElement | SVGElement>("time[datetime], [data-time]")) {
    const at = new Date(time.getAttribute("datetime") ?? time.dataset["time"] ?? "");
    if (Number.isNaN(at.getTime())) continue;
    const second = "seconds" in time.dataset ? ({ second: "2-digit" } as const) : {};
    const date = at.toDateString() === today ? "" : `${at.toLocaleDateString("en-GB", DAY).replace(",", "")}, `;
    time.textContent = date + at.toLocaleTimeString("en-GB", { ...CLOCK, ...second });
    if (time instanceof HTMLElement) time.title = at.toLocaleString();
  }
}
