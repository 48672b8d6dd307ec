// What was read, subscribed to, watched and ignored: kept in this browser, and on the server for people who are signed in.
// The rules of merging are the server's (`marks/merge.rs`).

export interface ThreadMark {
  upto: number;
  count: number;
  read: string[];
  flag: "none" | "watched" | "ignored";
  flag_at: number;
  at: number;
}

export interface NewsgroupMark {
  articles: number;
  upto: number;
  subscribed: boolean;
  subscribed_at: number;
  at: number;
}

interface MarkSet {
  threads: Record<string, ThreadMark>;
  newsgroups: Record<string, NewsgroupMark>;
}

interface Kept extends MarkSet {
  /** The server's version that is known here. */
  version: number;
  /** When the server was asked last. */
  asked: number;
  /** What the server does not know yet. */
  threadsToTell: string[];
  newsgroupsToTell: string[];
}

const PLACE = "weir-news";
const ADDRESS = "/api/v1/news/marks";
/** Storage is a few megabytes for the whole site. */
const MOST_THREADS = 2000;
const MOST_NEWSGROUPS = 1000;
const MOST_READ = 100;
const MOST_AT_ONCE = 400;
/** After the page has loaded, what the server knows can wait a moment. */
const SOON_MS = 1500;
const AGAIN_MS = 60_000;

export const now = (): number => Math.floor(Date.now() / 1000);

export class Marks {
  #kept: Kept;
  #timer = 0;
  /** What the server wants to see with a change; nothing for strangers, whose marks stay here. */
  #token: string | undefined;
  readonly #changed: () => void;

  /** `changed` is called when the server told something new. */
  constructor(changed: () => void) {
    this.#changed = changed;
    this.#kept = load();
    this.#token = document.querySelector<HTMLInputElement>(".account input[name=csrf]")?.value;
    if (this.#token === undefined) return;
    if (this.#toTell() || Date.now() - this.#kept.asked > AGAIN_MS) this.#soon(SOON_MS);
    // What is not told yet goes with the page.
    addEventListener("pagehide", () => this.#toTell() && void this.#exchange());
  }

  thread(root: string): ThreadMark {
    return this.#kept.threads[root] ?? { upto: 0, count: 0, read: [], flag: "none", flag_at: 0, at: 0 };
  }

  newsgroup(name: string): NewsgroupMark {
    return this.#kept.newsgroups[name] ?? { articles: 0, upto: 0, subscribed: false, subscribed_at: 0, at: 0 };
  }

  subscribed(): string[] {
    const all = Object.entries(this.#kept.newsgroups);
    return all.filter(([, mark]) => mark.subscribed).map(([name]) => name).sort();
  }

  setThread(root: string, change: Partial<ThreadMark>): void {
    const mark = { ...this.thread(root), ...change, at: now() };
    mark.read = mark.read.slice(-MOST_READ);
    this.#kept.threads[root] = mark;
    tell(this.#kept.threadsToTell, root);
    this.#save();
  }

  setNewsgroup(name: string, change: Partial<NewsgroupMark>): void {
    this.#kept.newsgroups[name] = { ...this.newsgroup(name), ...change, at: now() };
    tell(this.#kept.newsgroupsToTell, name);
    this.#save();
  }

  #toTell(): boolean {
    return this.#kept.threadsToTell.length + this.#kept.newsgroupsToTell.length > 0;
  }

  #save(): void {
    bound(this.#kept.threads, MOST_THREADS, (mark) => mark.flag !== "none");
    bound(this.#kept.newsgroups, MOST_NEWSGROUPS, (mark) => mark.subscribed);
    if (this.#token === undefined) {
      this.#kept.threadsToTell = [];
      this.#kept.newsgroupsToTell = [];
    }
    try {
      localStorage.setItem(PLACE, JSON.stringify(this.#kept));
    } catch {
      // There is nowhere to remember it.
    }
    if (this.#token !== undefined) this.#soon(SOON_MS);
  }

  #soon(wait: number): void {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#exchange(), wait);
  }

  async #exchange(): Promise<void> {
    clearTimeout(this.#timer);
    const [threads, newsgroups] = [this.#kept.threadsToTell, this.#kept.newsgroupsToTell].map((all) => all.slice(0, MOST_AT_ONCE));
    const body = JSON.stringify({
      threads: pick(this.#kept.threads, threads ?? []),
      newsgroups: pick(this.#kept.newsgroups, newsgroups ?? []),
    });
    const headers = { "content-type": "application/json", "x-csrf-token": this.#token ?? "" };
    const init = this.#toTell() ? { method: "POST", headers, body, keepalive: body.length < 60_000 } : {};
    let told: MarkSet & { version: number; more: boolean };
    try {
      const answer = await fetch(`${ADDRESS}?since=${this.#kept.version}`, init);
      if (answer.status === 401) this.#token = undefined;
      if (!answer.ok) return;
      told = (await answer.json()) as typeof told;
    } catch {
      return;
    }
    this.#kept = { ...this.#kept, version: told.version, asked: Date.now() };
    this.#kept.threadsToTell = this.#kept.threadsToTell.filter((root) => !threads?.includes(root));
    this.#kept.newsgroupsToTell = this.#kept.newsgroupsToTell.filter((name) => !newsgroups?.includes(name));
    for (const [root, mark] of Object.entries(told.threads)) {
      if (!this.#kept.threadsToTell.includes(root)) this.#kept.threads[root] = mark;
    }
    for (const [name, mark] of Object.entries(told.newsgroups)) {
      if (!this.#kept.newsgroupsToTell.includes(name)) this.#kept.newsgroups[name] = mark;
    }
    const more = told.more || this.#toTell();
    this.#save();
    clearTimeout(this.#timer);
    if (more) this.#soon(SOON_MS);
    this.#changed();
  }
}

function load(): Kept {
  const empty: Kept = { threads: {}, newsgroups: {}, version: 0, asked: 0, threadsToTell: [], newsgroupsToTell: [] };
  try {
    return { ...empty, ...(JSON.parse(localStorage.getItem(PLACE) ?? "{}") as Partial<Kept>) };
  } catch {
    return empty;
  }
}

function tell(list: string[], key: string): void {
  if (!list.includes(key)) list.push(key);
  list.splice(0, list.length - MOST_THREADS);
}

function pick<T>(all: Record<string, T>, keys: string[]): Record<string, T> {
  return Object.fromEntries(keys.flatMap((key) => (all[key] === undefined ? [] : [[key, all[key]]])));
}

// The oldest go first, and choices last.
function bound<T extends { at: number }>(marks: Record<string, T>, most: number, chosen: (mark: T) => boolean): void {
  const surplus = Object.keys(marks).length - most;
  if (surplus <= 0) return;
  const order = Object.entries(marks).sort(([, a], [, b]) => Number(chosen(a)) - Number(chosen(b)) || a.at - b.at);
  for (const [key] of order.slice(0, surplus)) delete marks[key];
}
