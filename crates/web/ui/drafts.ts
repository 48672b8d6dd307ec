// Drafts: what somebody writes is kept in the browser until it was sent, so that neither a crash nor a closed tab loses it. The
// server keeps what was sent to it as well; this is for what was not sent yet.

const PREFIX = "weir.draft.";
/** Drafts that nobody came back to for this long are forgotten. */
const OLD_MS = 30 * 24 * 3600 * 1000;
const FIELDS = ["name", "address", "newsgroups", "followup", "subject", "text"] as const;

type Field = HTMLInputElement | HTMLTextAreaElement;

interface Kept {
  at: number;
  fields: Record<string, string>;
}

/** The browser may have no room, or none for us. */
function attempt<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}

function read(key: string): Kept | null {
  return attempt(() => {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? "null");
    if (typeof kept !== "object" || kept === null || !("fields" in kept) || !("at" in kept)) return null;
    return kept as Kept;
  });
}

/** Forgets what is too old to be missed. */
function tidy(): void {
  attempt(() => {
    const keys = Array.from({ length: localStorage.length }, (_, place) => localStorage.key(place));
    for (const key of keys) {
      if (key?.startsWith(PREFIX) && Date.now() - (read(key)?.at ?? 0) > OLD_MS) localStorage.removeItem(key);
    }
  });
}

/** The page on which somebody writes. */
export function keepWriting(page: HTMLElement): void {
  const form = page.querySelector<HTMLFormElement>("[data-write]");
  if (!form) return;
  tidy();
  const key = PREFIX + (page.dataset["keep"] ?? "");
  const fields = FIELDS.flatMap((name) => {
    const field = form.elements.namedItem(name);
    return field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement ? [[name, field] as [string, Field]] : [];
  });
  const first = new Map(fields.map(([name, field]) => [name, field.defaultValue]));
  const kept = read(key);
  // What came back from the server is newer than what is kept here: it was sent from here.
  const answered = page.querySelector("[role=alert], .preview") !== null;
  if (kept && !answered) restore(page, fields, kept);
  const keep = (): void => {
    const value: Kept = { at: Date.now(), fields: Object.fromEntries(fields.map(([name, field]) => [name, field.value])) };
    attempt(() => localStorage.setItem(key, JSON.stringify(value)));
  };
  form.addEventListener("input", keep);
  page.querySelector("[data-forget]")?.addEventListener("click", () => {
    attempt(() => localStorage.removeItem(key));
    for (const [name, field] of fields) field.value = first.get(name) ?? "";
    const notice = page.querySelector<HTMLElement>("[data-restored]");
    if (notice) notice.hidden = true;
    form.querySelector<HTMLElement>("#text")?.focus();
  });
}

function restore(page: HTMLElement, fields: [string, Field][], kept: Kept): void {
  let changed = false;
  for (const [name, field] of fields) {
    const value = kept.fields[name];
    if (typeof value !== "string" || value === field.value) continue;
    field.value = value;
    changed = true;
  }
  const notice = page.querySelector<HTMLElement>("[data-restored]");
  if (notice && changed) notice.hidden = false;
}

/** The page that says what became of it. */
export function wasSent(page: HTMLElement): void {
  const sent = page.dataset["sent"];
  if (sent) attempt(() => localStorage.removeItem(PREFIX + sent));
}
