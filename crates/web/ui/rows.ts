// Keys that go from row to row and from message to message, on every page that marks them with `data-item`.

const rows = (): HTMLElement[] =>
  [...document.querySelectorAll<HTMLElement>("main [data-item]")].filter((row) => row.offsetParent !== null);

const current = (): HTMLElement | null => document.querySelector<HTMLElement>("main [data-item].current");

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

const click = (selector: string, root: ParentNode = document): boolean => {
  const found = [...root.querySelectorAll<HTMLElement>(selector)].at(-1);
  found?.click();
  return found !== undefined;
};

/** Acts on a key, or says that it is not one of these. */
export function rowKey(key: string): boolean {
  switch (key) {
    case "j":
      return step(1, () => true);
    case "k":
      return step(-1, () => true);
    case "n":
      // Past the last one the next page goes on.
      return step(1, (row) => row.matches(".new")) || (rows().length > 0 && click("main[id] a[rel=next]"));
    case "p":
      return step(-1, (row) => row.matches(".new"));
    case "o": {
      const row = current();
      if (!row) return false;
      if (row.matches("a")) {
        row.click();
        return true;
      }
      return click("[data-open]", row);
    }
    case "u":
      return click("main [data-up]");
    case "x": {
      const fold = current()?.querySelector<HTMLDetailsElement>("details") ?? document.activeElement?.closest("details");
      if (!(fold instanceof HTMLDetailsElement)) return false;
      fold.open = !fold.open;
      fold.querySelector("summary")?.focus({ preventScroll: true });
      return true;
    }
    case "[":
      return click("main a[rel=prev]");
    case "]":
      return click("main a[rel=next]");
    default:
      return false;
  }
}

const KEYS: [string, string][] = [
  ["j k", "Next, previous"],
  ["n p", "Next, previous unread"],
  ["o", "Open"],
  ["u", "Up"],
  ["x", "Collapse"],
  ["[ ]", "Previous, next page"],
];

/** Lists these keys in the help of pages that have rows. */
export function explainRowKeys(): void {
  const list = document.querySelector("dialog#keys dl");
  if (!list || !document.querySelector("main [data-item]")) return;
  for (const [keys, words] of KEYS) {
    const [line, term, says] = [document.createElement("div"), document.createElement("dt"), document.createElement("dd")];
    for (const key of keys.split(" ")) {
      const cap = document.createElement("kbd");
      cap.textContent = key;
      term.append(cap, " ");
    }
    says.textContent = words;
    line.append(term, says);
    list.append(line);
  }
}
