// Lists that grow on top: new rows appear while the page is untouched, and wait behind a button once somebody reads.

import { parsed } from "./parsed";

/** Rows that a list keeps, unless it says otherwise in `data-most`; also those that wait. */
const MOST = 200;

/** Rows for a list, newest last, and how many there was no room for. */
export interface Rows {
  list: string;
  rows: { id: string; html: string }[];
  more?: number;
  /** They are the newest of all, not only what is new: those before one that the page has are older than the page. */
  whole?: boolean;
}

export class LiveRows {
  readonly #changed: () => void;
  /** What is not on the page yet, oldest first, by list. */
  readonly #waiting = new Map<string, Map<string, string>>();
  readonly #paused = new Set<string>();
  readonly #more = new Map<string, number>();
  #touched = false;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  start(): void {
    const touch = (event: Event): void => {
      // A shortcut of the browser does not count as touching the page, and its buttons mean what they say.
      if (event instanceof KeyboardEvent && (event.ctrlKey || event.metaKey || event.altKey)) return;
      if (event.target instanceof Element && event.target.closest("[data-pause], .arrived")) return;
      this.#touched = true;
    };
    addEventListener("scroll", touch, { passive: true });
    addEventListener("keydown", touch);
    addEventListener("pointerdown", touch);
    for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-pause]")) {
      button.hidden = false;
      button.addEventListener("click", () => this.#pause(button));
    }
  }

  isPaused(): boolean {
    return this.#paused.size > 0;
  }

  take({ list, rows, more = 0, whole = false }: Rows): void {
    const waiting = this.#waiting.get(list) ?? new Map<string, string>();
    const known = whole ? rows.findLastIndex(({ id }) => document.getElementById(id) !== null) : -1;
    for (const { id, html } of rows.slice(Math.max(known, 0))) {
      waiting.delete(id);
      waiting.set(id, html);
    }
    // The oldest go first.
    for (const id of waiting.keys()) if (waiting.size > MOST) waiting.delete(id);
    this.#waiting.set(list, waiting);
    this.#more.set(list, more);
  }

  waits(): boolean {
    return [...this.#waiting.values()].some((rows) => rows.size > 0);
  }

  draw(): void {
    for (const [id, rows] of this.#waiting) {
      const list = document.getElementById(id);
      if (!list) {
        rows.clear();
        continue;
      }
      // A row that is on the page already, such as a burst that goes on, only changes.
      for (const [row, html] of rows) {
        const there = document.getElementById(row);
        if (!there) continue;
        rows.delete(row);
        const fresh = parsed(html);
        if (fresh && !there.contains(document.activeElement) && !fresh.isEqualNode(there)) there.replaceWith(fresh);
      }
      if (!this.#paused.has(id) && !this.#touched) this.#insert(list, rows);
      this.#offer(list, rows.size);
    }
  }

  #insert(list: HTMLElement, rows: Map<string, string>): void {
    if (rows.size === 0) return;
    const fresh = [...rows.values()].map(parsed).filter((row) => row !== null);
    rows.clear();
    list.prepend(...fresh.reverse());
    const most = Number(list.dataset["most"]) || MOST;
    while (list.children.length > most) list.lastElementChild?.remove();
    document.querySelector(`[data-empty="${list.id}"]`)?.remove();
    list.hidden = false;
    const more = document.querySelector<HTMLElement>(`[data-more="${list.id}"]`);
    const count = this.#more.get(list.id) ?? 0;
    if (more) more.textContent = count > 0 ? `${count.toLocaleString("en-GB")} more this second` : "";
  }

  // `12 new decisions, show`.
  #offer(list: HTMLElement, count: number): void {
    let button = document.querySelector<HTMLButtonElement>(`button[data-shows="${list.id}"]`);
    if (!button && count > 0) {
      button = document.createElement("button");
      button.type = "button";
      button.className = "arrived";
      button.dataset["shows"] = list.id;
      button.addEventListener("click", () => this.#bring(list));
      (list.closest("table") ?? list).before(button);
    }
    if (!button) return;
    button.hidden = count === 0 || this.#paused.has(list.id);
    const [one = "row", several = "rows"] = (list.dataset["rows"] ?? "").split(" ").filter((word) => word !== "");
    const words = `${count >= MOST ? `${MOST} or more` : count} new ${count === 1 ? one : several}, show`;
    if (button.textContent !== words) button.textContent = words;
  }

  // From now on the list grows by itself again, until the page is touched.
  #bring(list: HTMLElement): void {
    this.#touched = false;
    this.#paused.delete(list.id);
    this.#insert(list, this.#waiting.get(list.id) ?? new Map());
    this.#offer(list, 0);
    this.#changed();
  }

  #pause(button: HTMLButtonElement): void {
    const id = button.dataset["pause"] ?? "";
    const list = document.getElementById(id);
    if (this.#paused.has(id) && list) {
      this.#bring(list);
    } else {
      this.#paused.add(id);
    }
    button.textContent = this.#paused.has(id) ? "Resume" : "Pause";
    button.ariaPressed = String(this.#paused.has(id));
    this.#changed();
  }
}
