// Keys that go from row to row and from message to message, on every page that marks them with `data-item`. Each key says
// what it would act on; the help lists those that have something.

const rows = (): HTMLElement[] =>
  [...document.querySelectorAll<HTMLElement>("main [data-item]")].filter((row) => row.offsetParent !== null);

const current = (): HTMLElement | null => document.querySelector<HTMLElement>("main [data-item].current");

const inNews = (): boolean => document.querySelector("[data-news]") !== null;

/** Unread, or needing attention. */
const matters = (row: HTMLElement): boolean => row.matches(".new, [data-attention]") || row.querySelector("[data-attention]") !== null;

/** Makes a row the current one and brings it and its focus into sight. */
export function goTo(row: HTMLElement | undefined): void {
  if (!row) return;
  current()?.classList.remove("current");
  row.classList.add("current");
  const focus = row.matches("a") ? row : row.querySelector<HTMLElement>("[data-open], summary");
  focus?.focus({ preventScroll: true });
  const box = row.querySelector(":scope > header")?.getBoundingClientRect() ?? row.getBoundingClientRect();
  if (box.top < 72 || box.bottom > innerHeight - 96) scrollBy({ top: box.top - 96, behavior: "instant" });
}

function step(by: number, wanted: (row: HTMLElement) => boolean): boolean {
  const all = rows();
  const here = current();
  let at = here ? all.indexOf(here) : -1;
  // Without a current row, the first one in sight is the next one.
  if (at < 0) {
    const seen = all.findIndex((row) => row.getBoundingClientRect().bottom > 72);
    at = by > 0 ? (seen < 0 ? all.length : seen) - 1 : Math.max(seen, 0) + 1;
  }
  for (at += by; at >= 0 && at < all.length; at += by) {
    const row = all[at];
    if (row && wanted(row)) {
      goTo(row);
      return true;
    }
  }
  return false;
}

const last = (selector: string, root: ParentNode = document): HTMLElement | undefined =>
  [...root.querySelectorAll<HTMLElement>(selector)].at(-1);

function click(found: HTMLElement | null | undefined): boolean {
  found?.click();
  return found !== null && found !== undefined;
}

function open(): boolean {
  const row = current();
  return click(row?.matches("a") ? row : row && last("[data-open]", row));
}

function collapse(): boolean {
  const link = current()?.querySelector<HTMLElement>("a[data-fold]");
  if (link) return click(link);
  const fold = current()?.querySelector("details") ?? document.activeElement?.closest("details");
  if (!(fold instanceof HTMLDetailsElement)) return false;
  fold.open = !fold.open;
  fold.querySelector("summary")?.focus({ preventScroll: true });
  return true;
}

/** To the current message, or to the only one there is. */
function reply(): HTMLElement | undefined {
  const row = current();
  const all = document.querySelectorAll<HTMLElement>("main [data-reply]");
  return row ? last("[data-reply]", row) : all.length === 1 ? all[0] : undefined;
}

const previous = (): HTMLElement | undefined => last("main a[rel=prev]") ?? last("main a[rel=first]");
const next = (): HTMLElement | undefined => last("main a[rel=next]");
// Past the last one the next page of news goes on.
const onward = (): boolean => inNews() && rows().length > 0 && click(next());

const some = (selector: string) => (): boolean => document.querySelector(`main ${selector}`) !== null;
const isThere = (): boolean => rows().length > 0;

const FOLDS = ["[data-item] details", "details [data-item]", "[data-item] a[data-fold]"];

interface RowKey {
  act: () => boolean;
  /** Whether it has something to act on, on this page. */
  has: () => boolean;
}

const KEYS: Record<string, RowKey> = {
  j: { has: isThere, act: () => step(1, () => true) },
  k: { has: isThere, act: () => step(-1, () => true) },
  n: { has: () => inNews() || rows().some(matters), act: () => step(1, matters) || onward() },
  p: { has: () => inNews() || rows().some(matters), act: () => step(-1, matters) },
  o: { has: some("[data-open]"), act: open },
  // Where a link or button has the focus, Enter is its own.
  Enter: { has: () => false, act: () => document.activeElement === document.body && open() },
  u: { has: some("[data-up]"), act: () => click(last("main [data-up]")) },
  x: { has: () => FOLDS.some((fold) => some(fold)()), act: collapse },
  r: { has: some("[data-reply]"), act: () => click(reply()) },
  "[": { has: () => previous() !== undefined, act: () => click(previous()) },
  "]": { has: () => next() !== undefined, act: () => click(next()) },
};

/** Acts on a key, or says that it does nothing here. */
export function rowKey(key: string): boolean {
  return Object.hasOwn(KEYS, key) && (KEYS[key]?.act() ?? false);
}

const WORDS: [string, string][] = [
  ["j k", "Next, previous row"],
  ["n p", "Next, previous one needing attention"],
  ["o", "Open"],
  ["u", "Up"],
  ["x", "Expand or collapse"],
  ["r", "Reply"],
  ["[ ]", "Previous, next page"],
];

const IN_NEWS: Record<string, string> = { "j k": "Next, previous", "n p": "Next, previous unread" };

/** Lists in the help which of these keys do something on this page as it is now. */
export function explainRowKeys(): void {
  const list = document.querySelector("dialog#keys dl");
  if (!list) return;
  for (const line of list.querySelectorAll<HTMLElement>("[data-needs]")) {
    line.hidden = document.querySelector(line.dataset["needs"] ?? "") === null;
  }
  for (const old of list.querySelectorAll("[data-row-key]")) old.remove();
  for (const [keys, words] of WORDS) {
    const acting = keys.split(" ");
    if (!acting.some((key) => KEYS[key]?.has())) continue;
    const [line, term, says] = [document.createElement("div"), document.createElement("dt"), document.createElement("dd")];
    line.dataset["rowKey"] = "";
    for (const key of acting) {
      const cap = document.createElement("kbd");
      cap.textContent = key;
      term.append(cap, " ");
    }
    says.textContent = (inNews() ? IN_NEWS[keys] : undefined) ?? words;
    line.append(term, says);
    list.append(line);
  }
}
