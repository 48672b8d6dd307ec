// News: what is unread, subscriptions, watched and ignored threads, folding, ROT13. The pages are the same for everybody;
// this lays over them what this reader has done.

import { keepWriting, wasSent } from "./drafts";
import { Marks, now, type ThreadMark } from "./marks";

/** A message that was in sight this long is read. */
const READ_MS = 1000;
/** The server refreshes what is older than half a minute; a little later we look whether there is something new. */
const LOOK_MS = 5000;

interface Newsgroup {
  name: string;
  description: string;
  articles: number;
}

export function readNews(): void {
  const page = document.querySelector<HTMLElement>("[data-news]");
  if (!page) return;
  switch (page.dataset["news"]) {
    case "compose":
      return keepWriting(page);
    case "post":
      return wasSent(page);
  }
  openForPrint();
  turnLetters();
  offerFolding();
  fitOutline();
  switch (page.dataset["news"]) {
    case "groups":
      return void new GroupsPage(page);
    case "threads":
      return void new ThreadsPage(page);
    case "thread":
      return void new ThreadPage(page);
  }
}

const find = <T extends HTMLElement>(selector: string, root: ParentNode = document): T | null => root.querySelector<T>(selector);
const all = (selector: string, root: ParentNode = document): HTMLElement[] => [...root.querySelectorAll<HTMLElement>(selector)];
const number = (element: HTMLElement, name: string): number => Number(element.dataset[name] ?? 0);
const few = (count: number, word: string): string => `${count.toLocaleString("en-GB")} ${word}`;

/** Words for screen readers. */
function spoken(words: string): HTMLElement {
  const element = document.createElement("span");
  element.className = "unread";
  element.textContent = words;
  return element;
}

function press(button: HTMLButtonElement | null, pressed: boolean, label: string): void {
  if (!button) return;
  button.ariaPressed = String(pressed);
  button.textContent = label;
}

function showOwn(): void {
  for (const part of all("[data-own], [data-keys]")) part.hidden = false;
}

/** How many articles of a thread are not read yet. */
function unread(mark: ThreadMark, articles: number, last: number, upto: number): number {
  if (last <= upto || last <= mark.upto) return 0;
  return Math.max(0, articles - mark.count - mark.read.length);
}

/** How many articles came since a newsgroup was visited. Of others everything would be new. */
function arrived(marks: Marks, name: string, row: HTMLElement): number {
  const mark = marks.newsgroup(name);
  return mark.at > 0 ? number(row, "articles") - mark.articles : 0;
}

class GroupsPage {
  readonly #page: HTMLElement;
  readonly #marks = new Marks(() => void this.#show());

  constructor(page: HTMLElement) {
    this.#page = page;
    void this.#show();
  }

  async #show(): Promise<void> {
    for (const row of all("[data-group]", this.#page)) this.#count(row);
    const panel = find("[data-favourites]");
    const list = panel && find("ul", panel);
    const names = this.#marks.subscribed();
    if (!panel || !list) return;
    panel.hidden = names.length === 0;
    if (names.length === 0) return;
    const rows = await this.#subscribed(names);
    list.replaceChildren(...rows.map((row) => item(row)));
    for (const row of all("[data-group]", list)) this.#count(row);
  }

  async #subscribed(names: string[]): Promise<Newsgroup[]> {
    const bare = names.map((name) => ({ name, description: "", articles: -1 }));
    // Nothing is said of them if they cannot be asked for.
    const unknown = bare.map((row) => ({ ...row, articles: NaN }));
    try {
      const answer = await fetch(`/api/v1/news/groups?names=${encodeURIComponent(names.join(","))}`);
      if (!answer.ok) return unknown;
      const found = ((await answer.json()) as { groups: Newsgroup[] }).groups;
      return bare.map((row) => found.find((other) => other.name === row.name) ?? row);
    } catch {
      return unknown;
    }
  }

  #count(row: HTMLElement): void {
    const fresh = arrived(this.#marks, row.dataset["group"] ?? "", row);
    row.classList.toggle("new", fresh > 0);
    let badge = find(".fresh", row);
    if (fresh > 0 && !badge) {
      badge = document.createElement("b");
      badge.className = "fresh";
      find("[data-open]", row)?.after(" ", badge);
    }
    if (badge) badge.textContent = fresh > 0 ? few(fresh, "new") : "";
  }
}

function item(row: Newsgroup): HTMLElement {
  const [line, group, link, name, about, sub] = ["li", "div", "a", "bdi", "span", "span"].map((tag) => document.createElement(tag));
  if (!line || !group || !link || !name || !about || !sub) throw new Error("no elements");
  group.className = "group";
  Object.assign(group.dataset, { item: "", group: row.name, articles: String(Math.max(0, row.articles || 0)) });
  link.setAttribute("href", `/news/${encodeURIComponent(row.name)}`);
  link.dataset["open"] = "";
  name.textContent = row.name;
  link.append(name);
  about.className = "about";
  about.dir = "auto";
  about.textContent = row.description;
  sub.className = "sub";
  const known = row.articles < 0 ? "not listed now" : few(row.articles, row.articles === 1 ? "article" : "articles");
  sub.textContent = Number.isNaN(row.articles) ? "" : known;
  group.append(link, " ", about, " ", sub);
  line.append(group);
  return line;
}

class ThreadsPage {
  readonly #page: HTMLElement;
  readonly #name: string;
  readonly #marks = new Marks(() => this.#show());
  #ignored = false;

  constructor(page: HTMLElement) {
    this.#page = page;
    this.#name = page.dataset["newsgroup"] ?? "";
    showOwn();
    for (const row of all("tr[data-root]", page)) row.append(this.#actions(row));
    const head = find("thead tr", page);
    if (head) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.append(spoken("Actions"));
      head.append(cell);
    }
    find("[data-subscribe]")?.addEventListener("click", () => this.#subscribe());
    find("[data-all-read]")?.addEventListener("click", () => this.#readAll());
    find("[data-show-ignored]")?.addEventListener("click", () => {
      this.#ignored = !this.#ignored;
      this.#show();
    });
    this.#show();
    this.#visit();
    lookForMore(() => all("tr[data-root]", page).map((row) => `${row.dataset["root"]} ${row.dataset["articles"]}`));
  }

  // Here is what this newsgroup has; what comes later is new in the list of newsgroups.
  #visit(): void {
    this.#marks.setNewsgroup(this.#name, { articles: number(this.#page, "articles") });
  }

  // The newsgroups beside the list, but for the one that is being read.
  #showBeside(): void {
    for (const link of all(".side a[data-articles]:not([aria-current])")) {
      const name = decodeURIComponent(new URL((link as HTMLAnchorElement).href).pathname.slice("/news/".length));
      const fresh = arrived(this.#marks, name, link);
      link.classList.toggle("new", fresh > 0);
      find(".fresh", link)?.remove();
      if (fresh <= 0) continue;
      const badge = document.createElement("b");
      badge.className = "fresh";
      badge.textContent = few(fresh, "new");
      link.append(" ", badge);
    }
  }

  #show(): void {
    this.#showBeside();
    const group = this.#marks.newsgroup(this.#name);
    press(find("[data-subscribe]"), group.subscribed, group.subscribed ? "Subscribed" : "Subscribe");
    let ignored = 0;
    for (const row of all("tr[data-root]", this.#page)) {
      const mark = this.#marks.thread(row.dataset["root"] ?? "");
      const count = unread(mark, number(row, "articles"), number(row, "last"), group.upto);
      const isIgnored = mark.flag === "ignored";
      row.classList.toggle("new", count > 0 && !isIgnored);
      row.classList.toggle("watched", mark.flag === "watched");
      row.hidden = isIgnored && !this.#ignored;
      ignored += Number(isIgnored);
      this.#dot(row, count > 0 && !isIgnored ? (count < number(row, "articles") ? few(count, "new") : "unread") : "");
      press(find("[data-watch]", row), mark.flag === "watched", mark.flag === "watched" ? "Watching" : "Watch");
      press(find("[data-ignore]", row), isIgnored, isIgnored ? "Ignored" : "Ignore");
    }
    const button = find("[data-show-ignored]");
    if (!button) return;
    button.hidden = ignored === 0;
    button.textContent = this.#ignored ? "Hide ignored" : `Show ${few(ignored, "ignored")}`;
  }

  #dot(row: HTMLElement, words: string): void {
    const cell = find(".what", row);
    let dot = cell && find(".dot", cell);
    if (!cell) return;
    if (!dot) {
      dot = document.createElement("span");
      dot.className = "dot";
      cell.prepend(dot);
    }
    dot.hidden = words === "";
    dot.title = words;
    dot.replaceChildren(spoken(`${words}: `));
  }

  #actions(row: HTMLElement): HTMLElement {
    const cell = document.createElement("td");
    cell.className = "act";
    for (const [name, flag] of [["watch", "watched"], ["ignore", "ignored"]] as const) {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset[name] = "";
      button.addEventListener("click", () => {
        flip(this.#marks, row.dataset["root"] ?? "", flag);
        this.#show();
      });
      cell.append(button, " ");
    }
    return cell;
  }

  #subscribe(): void {
    const subscribed = !this.#marks.newsgroup(this.#name).subscribed;
    this.#marks.setNewsgroup(this.#name, { subscribed, subscribed_at: now() });
    this.#show();
  }

  #readAll(): void {
    for (const row of all("tr[data-root]", this.#page)) {
      const [count, upto] = [number(row, "articles"), number(row, "last")];
      this.#marks.setThread(row.dataset["root"] ?? "", { count, upto, read: [] });
    }
    const upto = Math.max(this.#marks.newsgroup(this.#name).upto, number(this.#page, "newest"));
    this.#marks.setNewsgroup(this.#name, { upto, articles: number(this.#page, "articles") });
    this.#show();
  }
}

function flip(marks: Marks, root: string, flag: "watched" | "ignored"): void {
  const before = marks.thread(root).flag;
  marks.setThread(root, { flag: before === flag ? "none" : flag, flag_at: now() });
}

class ThreadPage {
  readonly #page: HTMLElement;
  readonly #root: string;
  readonly #marks = new Marks(() => this.#show());
  readonly #waiting = new Map<Element, number>();
  /** What was unread when the page was opened stays marked until it is left. */
  readonly #fresh = new Set<string>();

  constructor(page: HTMLElement) {
    this.#page = page;
    this.#root = page.dataset["root"] ?? "";
    showOwn();
    const mark = this.#marks.thread(this.#root);
    for (const message of this.#messages()) {
      if (number(message, "at") > mark.upto && !mark.read.includes(message.id)) this.#fresh.add(message.id);
    }
    find("[data-watch]")?.addEventListener("click", () => this.#flip("watched"));
    find("[data-ignore]")?.addEventListener("click", () => this.#flip("ignored"));
    find("[data-all-read]")?.addEventListener("click", () => this.#readAll());
    this.#show();
    this.#watchReading();
    this.#followPlace();
    lookForMore(() => [page.dataset["articles"] ?? ""]);
  }

  #messages(): HTMLElement[] {
    return all("li[data-item]", this.#page);
  }

  #isRead(id: string, mark: ThreadMark): boolean {
    const message = document.getElementById(id);
    return mark.read.includes(id) || (message !== null && number(message, "at") <= mark.upto);
  }

  #show(): void {
    const mark = this.#marks.thread(this.#root);
    let left = 0;
    for (const message of this.#messages()) {
      const isNew = this.#fresh.has(message.id);
      left += Number(isNew && !this.#isRead(message.id, mark));
      message.classList.toggle("new", isNew && !this.#isRead(message.id, mark));
      find(`[data-to="${message.id}"]`, this.#page)?.classList.toggle("new", message.classList.contains("new"));
    }
    const part = "part" in this.#page.dataset;
    const total = part ? unread(mark, number(this.#page, "articles"), number(this.#page, "last"), 0) : left;
    for (const words of all("[data-unread]")) {
      words.hidden = total === 0;
      words.textContent = few(total, "unread");
    }
    press(find("[data-watch]"), mark.flag === "watched", mark.flag === "watched" ? "Watching thread" : "Watch thread");
    press(find("[data-ignore]"), mark.flag === "ignored", mark.flag === "ignored" ? "Ignoring thread" : "Ignore thread");
  }

  #flip(flag: "watched" | "ignored"): void {
    flip(this.#marks, this.#root, flag);
    this.#show();
  }

  #readAll(): void {
    const [count, upto] = [number(this.#page, "articles"), number(this.#page, "last")];
    this.#marks.setThread(this.#root, { count, upto, read: [] });
    this.#show();
  }

  // A message is read once its words were in sight for a moment, in a page that is in sight itself.
  #watchReading(): void {
    const watcher = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) {
          clearTimeout(this.#waiting.get(entry.target));
          if (!entry.isIntersecting || document.hidden) continue;
          const timer = window.setTimeout(() => this.#read(entry.target, watcher), READ_MS);
          this.#waiting.set(entry.target, timer);
        }
      },
      { rootMargin: "-60px 0px -60px 0px" },
    );
    for (const message of this.#messages()) {
      const words = this.#fresh.has(message.id) && find(".doing", message);
      if (words) watcher.observe(words);
    }
  }

  #read(words: Element, watcher: IntersectionObserver): void {
    watcher.unobserve(words);
    const message = words.closest<HTMLElement>("li[data-item]");
    if (!message) return;
    const mark = this.#marks.thread(this.#root);
    if (!mark.read.includes(message.id)) this.#marks.setThread(this.#root, { read: [...mark.read, message.id] });
    this.#settle();
    this.#show();
  }

  // When nothing is left, one time says it all.
  #settle(): void {
    const mark = this.#marks.thread(this.#root);
    const articles = number(this.#page, "articles");
    // Of a long thread this is one page, and a message that could not be fetched is not read.
    const messages = this.#messages();
    const everything = messages.length < articles
      ? mark.count + mark.read.length >= articles
      : messages.every((message) => this.#isRead(message.id, mark));
    if (everything) this.#readAll();
  }

  // The outline shows where the reader is.
  #followPlace(): void {
    const mark = (): void => {
      const messages = this.#messages().filter((message) => message.offsetParent !== null);
      const above = messages.filter((message) => message.getBoundingClientRect().top < 160);
      const chosen = messages.find((message) => message.matches(".current") && message.getBoundingClientRect().top < innerHeight);
      const here = chosen ?? above.at(-1) ?? messages[0];
      for (const link of all("[data-to]", this.#page)) {
        if (link.dataset["to"] === here?.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    };
    let due = 0;
    const later = (): void => {
      cancelAnimationFrame(due);
      due = requestAnimationFrame(mark);
    };
    addEventListener("scroll", later, { passive: true });
    mark();
  }
}

// Looks once for what the server has learned meanwhile, and offers it; nothing on the page moves by itself.
function lookForMore(seen: () => string[]): void {
  const look = async (): Promise<void> => {
    if (document.hidden) return;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-cache" });
      if (!answer.ok) return;
      const other = new DOMParser().parseFromString(await answer.text(), "text/html");
      const page = find<HTMLElement>("[data-news]", other);
      if (!page) return;
      const before = new Set(seen());
      const rows = page.dataset["news"] === "thread" ? [page.dataset["articles"] ?? ""] : all("tr[data-root]", page).map((row) => `${row.dataset["root"]} ${row.dataset["articles"]}`);
      const fresh = page.dataset["news"] === "thread" ? Number(rows[0]) - Number(seen()[0]) : rows.filter((row) => !before.has(row)).length;
      if (fresh > 0) offer(fresh, page.dataset["news"] === "thread" ? ["new message", "new messages"] : ["thread has new messages", "threads have new messages"]);
    } catch {
      // The reader can reload the page.
    }
  };
  window.setTimeout(() => void look(), LOOK_MS);
}

function offer(count: number, [one, many]: [string, string]): void {
  const notice = document.createElement("p");
  notice.className = "notice arrivals";
  notice.setAttribute("role", "status");
  notice.append(`${few(count, count === 1 ? one : many)}. `);
  const link = document.createElement("a");
  link.href = location.href;
  link.textContent = "Show";
  link.addEventListener("click", (event) => {
    event.preventDefault();
    location.reload();
  });
  notice.append(link);
  find("[data-news]")?.before(notice);
}

// Letters are turned in place, and back.
function turnLetters(): void {
  for (const link of all("a[data-rot13]")) {
    link.addEventListener("click", (event) => {
      const words = link.closest(".body")?.querySelector(".words");
      if (!words || !(event instanceof MouseEvent) || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const texts = document.createTreeWalker(words, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        const text = texts.currentNode;
        text.textContent = (text.textContent ?? "").replaceAll(/[a-z]/gi, (letter) => {
          const first = letter <= "Z" ? 65 : 97;
          return String.fromCharCode(first + ((letter.charCodeAt(0) - first + 13) % 26));
        });
      }
    });
  }
}

function offerFolding(): void {
  for (const button of all("button[data-fold]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const fold = button.closest<HTMLDetailsElement>("details.message");
      if (!fold) return;
      fold.open = false;
      fold.querySelector("summary")?.focus();
    });
  }
  // A link to a folded message unfolds it.
  const unfold = (): void => {
    const place = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
    for (let fold = place?.querySelector("details") ?? null; fold; fold = fold.parentElement?.closest("details") ?? null) fold.open = true;
    if (place) place.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();
}

// The outline is folded where it would stand above the messages.
function fitOutline(): void {
  const outline = find<HTMLDetailsElement>("details.outline");
  if (outline && matchMedia("(min-width: 961px)").matches) outline.open = true;
}

function openForPrint(): void {
  addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll<HTMLDetailsElement>("details.message, details.quote")) fold.open = true;
  });
}
