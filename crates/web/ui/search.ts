// A search under way: bars and words change in place, releases are inserted while the page is untouched.

import { localiseTimes } from "./times";

/** How often bars move. */
const TICK_MS = 250;
/** The shortest time between two readings of the summary by a screen reader. */
const SAY_MS = 10_000;

/** One indexer's part, as the server describes it. */
interface Line {
  name: string;
  says: string;
  note: string;
  until: string | null;
  until_word: string;
  look: string;
  full: boolean;
}

interface State {
  finished: boolean;
  took_ms: number;
  deadline_ms: number;
  headline: string;
  rest: string;
  pace: string;
  count: number;
  indexers: Line[];
}

/** Tells the server that forms which start a search need not wait for first results: script shows them as they arrive. */
export function saySearchIsLive(): void {
  for (const field of document.querySelectorAll<HTMLInputElement>("input[data-live]")) field.value = "1";
}

export function followSearch(): void {
  const panel = document.querySelector<HTMLElement>("[data-search]");
  const shelf = document.getElementById("releases");
  if (panel && shelf) new Follower(panel, shelf).start();
}

class Follower {
  readonly #panel: HTMLElement;
  readonly #shelf: HTMLElement;
  readonly #deadline: number;
  /** When the search began, by this page's clock. */
  #began: number;
  #touched: boolean;
  #state: State | undefined;
  #fetching = false;
  #said = 0;
  #source: EventSource | undefined;
  #ticking = 0;

  constructor(panel: HTMLElement, shelf: HTMLElement) {
    this.#panel = panel;
    this.#shelf = shelf;
    this.#deadline = Number(panel.dataset["deadline"]);
    this.#began = performance.now() - Number(panel.dataset["elapsed"]);
    this.#touched = this.#section()?.dataset["plain"] === undefined;
  }

  start(): void {
    const touch = (event: Event): void => {
      // A shortcut of the browser does not count as touching the page.
      if (event instanceof KeyboardEvent && (event.ctrlKey || event.metaKey || event.altKey)) return;
      this.#touched = true;
    };
    addEventListener("scroll", touch, { passive: true });
    addEventListener("keydown", touch);
    addEventListener("pointerdown", touch);
    // A hidden page holds no connection; once it is visible again, it first gets the whole state.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#close() : this.#open()));
    this.#shelf.addEventListener("click", (event) => {
      if (event.target instanceof Element && event.target.closest("button.arrived")) void this.#bring();
    });
    this.#ticking = window.setInterval(() => this.#tick(), TICK_MS);
    if (!document.hidden) this.#open();
  }

  #open(): void {
    if (this.#source || this.#state?.finished) return;
    const source = new EventSource(`/api/v1/searches/${this.#panel.dataset["search"]}/events`);
    source.addEventListener("state", (event) => this.#take(JSON.parse(event.data) as State));
    source.addEventListener("done", () => this.#close());
    this.#source = source;
  }

  #close(): void {
    this.#source?.close();
    this.#source = undefined;
  }

  #take(state: State): void {
    this.#state = state;
    this.#began = performance.now() - state.took_ms;
    for (const line of state.indexers) this.#show(line);
    this.#say(state);
    this.#tick();
    if (state.finished) {
      clearInterval(this.#ticking);
      this.#find(".stop").hidden = true;
      this.#find(".anew").hidden = false;
    }
    void this.#arrive();
  }

  // Screen readers read it at most every ten seconds, and at the end.
  #say(state: State): void {
    const now = performance.now();
    const said = this.#find(".said");
    said.setAttribute("aria-live", state.finished || now - this.#said > SAY_MS ? "polite" : "off");
    if (said.getAttribute("aria-live") === "polite") this.#said = now;
    setText(this.#find("h1"), state.headline);
    setText(this.#find(".rest"), state.rest);
    if (state.finished) setText(this.#find(".now"), state.pace);
  }

  #show(line: Line): void {
    const name = CSS.escape(line.name);
    const look = `${line.look}${line.full ? " full" : ""}`;
    this.#panel.querySelector(`[data-segment="${name}"]`)?.setAttribute("class", look);
    const item = this.#panel.querySelector<HTMLElement>(`[data-indexer="${name}"]`);
    if (!item) return;
    item.className = look;
    if (line.look !== "runs") setText(item.querySelector(".says"), line.says);
    if (line.full || line.look !== "runs") item.querySelector(".fill")?.setAttribute("width", line.full ? "100" : "0");
    const note = item.querySelector(".note");
    if (!note || note.getAttribute("data-said") === line.note) return;
    note.setAttribute("data-said", line.note);
    note.textContent = line.note;
    if (line.until) {
      const time = document.createElement("time");
      time.setAttribute("datetime", line.until);
      note.append(`${line.until_word} `, time);
      localiseTimes(note);
    }
    if (line.note) note.append(".");
  }

  #tick(): void {
    if (this.#state?.finished) return;
    const elapsed = Math.min(performance.now() - this.#began, this.#deadline);
    const pace = `${Math.floor(elapsed / 1000)} of ${Math.floor(this.#deadline / 1000)} s`;
    setText(this.#find(".now"), pace);
    for (const item of this.#panel.querySelectorAll<HTMLElement>(".lines .runs:not(.full)")) {
      setText(item.querySelector(".says"), `asking, ${pace}`);
      item.querySelector(".fill")?.setAttribute("width", String(Math.max(1, (elapsed / this.#deadline) * 100)));
    }
  }

  // New releases are inserted at once, or wait behind a button once the reader has touched the page.
  async #arrive(): Promise<void> {
    const more = (this.#state?.count ?? 0) - Number(this.#section()?.dataset["total"]);
    if (more <= 0) {
      if (this.#state?.finished && this.#state.count === 0 && !this.#touched) await this.#bring();
      return;
    }
    if (!this.#touched) {
      await this.#bring();
      return;
    }
    const button = this.#shelf.querySelector<HTMLButtonElement>("button.arrived");
    if (!button) return;
    setText(button, `${more.toLocaleString("en-GB")} more ${more === 1 ? "has" : "have"} arrived, show`);
    button.hidden = false;
  }

  async #bring(): Promise<void> {
    if (this.#fetching) return;
    this.#fetching = true;
    const address = new URL(location.href);
    address.searchParams.set("part", "releases");
    try {
      const answer = await fetch(address, { headers: { accept: "text/html" } });
      if (!answer.ok) return;
      const text = await answer.text();
      const focused = this.#shelf.contains(document.activeElement);
      const part = new DOMParser().parseFromString(text, "text/html").body;
      this.#shelf.replaceChildren(...part.childNodes);
      localiseTimes(this.#shelf);
      if (focused) this.#shelf.querySelector<HTMLElement>("a, button, input")?.focus({ preventScroll: true });
    } finally {
      this.#fetching = false;
    }
    // More may have arrived in the meantime.
    const more = (this.#state?.count ?? 0) > Number(this.#section()?.dataset["total"]);
    if (more) await this.#arrive();
  }

  #section(): HTMLElement | null {
    return this.#shelf.querySelector<HTMLElement>("[data-total]");
  }

  #find(selector: string): HTMLElement {
    const found = this.#panel.querySelector<HTMLElement>(selector);
    if (!found) throw new Error(`no ${selector}`);
    return found;
  }
}

function setText(element: Element | null, text: string): void {
  if (element && element.textContent !== text) element.textContent = text;
}
