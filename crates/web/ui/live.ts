// Keeps a page fresh: one stream of events with the topics that the page names in `data-topics`. Elements that change are
// replaced whole, by their id, with what the server would have written into the page; so script knows nothing of their content.

import { LiveRows, type Rows } from "./live-rows";
import { parsed } from "./parsed";
import { serverNow } from "./times";

/** When the browser has given up (a server that answered with an error), it is tried again after this time. */
const AGAIN_MS = 10_000;
/** The shortest time between two readings of the opening sentence by a screen reader. */
const SAY_MS = 10_000;
/** Topics that the server takes at most. */
const TOPICS = 64;

interface Parts {
  parts: Record<string, string>;
}

export function followLive(): void {
  const topics = new Set<string>();
  for (const element of document.querySelectorAll<HTMLElement>("[data-topics]")) {
    for (const topic of (element.dataset["topics"] ?? "").split(/\s+/)) if (topic) topics.add(topic);
  }
  if (topics.size > 0) new Live([...topics].slice(0, TOPICS)).start();
}

class Live {
  readonly #topics: string[];
  readonly #pill = document.getElementById("live");
  readonly #rows: LiveRows;
  /** Parts that are not on the page yet: the newest of each. */
  readonly #waiting = new Map<string, string>();
  #source: EventSource | undefined;
  #again = 0;
  #frame = 0;
  #said = 0;
  /** When the page was last known to be right, by the server's clock. */
  #fresh = serverNow();

  constructor(topics: string[]) {
    this.#topics = topics;
    this.#rows = new LiveRows(() => this.#show());
  }

  start(): void {
    // A hidden page holds no connection: browsers allow six to a server. Once it is visible again, it gets the whole.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#close() : this.#open()));
    addEventListener("pagehide", () => this.#close());
    addEventListener("pageshow", () => this.#open());
    // What was held back because somebody was using it may be free now.
    for (const event of ["focusout", "toggle", "selectionchange"]) {
      document.addEventListener(event, () => this.#draw(), { capture: true, passive: true });
    }
    this.#rows.start();
    this.#open();
  }

  #open(): void {
    if (this.#source || document.hidden) return;
    clearTimeout(this.#again);
    const source = new EventSource(`/api/v1/events?topics=${encodeURIComponent(this.#topics.join(","))}`);
    source.addEventListener("open", () => this.#show());
    source.addEventListener("error", () => this.#lost(source));
    source.addEventListener("parts", (event) => {
      for (const [id, html] of Object.entries((JSON.parse(event.data) as Parts).parts)) this.#waiting.set(id, html);
      this.#draw();
    });
    source.addEventListener("rows", (event) => {
      this.#rows.take(JSON.parse(event.data) as Rows);
      this.#draw();
    });
    source.addEventListener("points", (event) => {
      document.dispatchEvent(new CustomEvent("weir:points", { detail: JSON.parse(event.data) as unknown }));
    });
    this.#source = source;
  }

  #close(): void {
    clearTimeout(this.#again);
    this.#source?.close();
    this.#source = undefined;
  }

  #lost(source: EventSource): void {
    if (source !== this.#source) return;
    if (source.readyState === EventSource.CLOSED) {
      this.#close();
      this.#again = window.setTimeout(() => this.#open(), AGAIN_MS);
    }
    this.#show();
  }

  // One drawing for all that arrives within a frame of the screen.
  #draw(): void {
    if (this.#source?.readyState === EventSource.OPEN) this.#fresh = serverNow();
    if (this.#frame || (this.#waiting.size === 0 && !this.#rows.waits())) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      for (const [id, html] of this.#waiting) {
        const element = document.getElementById(id);
        if (element && isInUse(element)) continue;
        this.#waiting.delete(id);
        if (element) this.#replace(element, html);
      }
      this.#rows.draw();
      this.#show();
    });
  }

  #replace(element: HTMLElement, html: string): void {
    const fresh = parsed(html);
    if (!fresh || fresh.isEqualNode(element)) return;
    const region = element.closest<HTMLElement>("[role=status]");
    if (region) this.#mayBeRead(region);
    tintChanges(element, fresh);
    element.replaceWith(fresh);
  }

  // Screen readers read the opening sentence at most every ten seconds.
  #mayBeRead(region: HTMLElement): void {
    const now = performance.now();
    const may = this.#said === 0 || now - this.#said > SAY_MS;
    region.setAttribute("aria-live", may ? "polite" : "off");
    if (may) this.#said = now;
  }

  #show(): void {
    if (!this.#pill) return;
    const open = this.#source?.readyState === EventSource.OPEN;
    const state = !open ? "lost" : this.#rows.isPaused() ? "paused" : "on";
    this.#pill.hidden = false;
    this.#pill.className = `live ${state}`;
    const since = new Date(this.#fresh).toLocaleTimeString("en-GB", { hourCycle: "h23" });
    const words = { on: "Live", paused: "Paused", lost: `Reconnecting, data from ${since}` };
    if (this.#pill.textContent !== words[state]) this.#pill.textContent = words[state];
  }
}

// Nothing is taken away from under somebody's hands: what has the focus, is unfolded or selected waits.
function isInUse(element: HTMLElement): boolean {
  const focused = document.activeElement;
  if (focused && focused !== document.body && element.contains(focused)) return true;
  if (element.querySelector("details[open]")) return true;
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(element, true);
}

// A figure that changed shows its tint once.
function tintChanges(before: HTMLElement, after: HTMLElement): void {
  for (const figure of after.querySelectorAll<HTMLElement>("[data-figure]")) {
    const old = before.querySelector(`[data-figure="${CSS.escape(figure.dataset["figure"] ?? "")}"]`);
    if (old && old.textContent !== figure.textContent) figure.classList.add("fresh");
  }
}
