// Shows that a program has connected, while the reader is still in that program's settings.

/** How often the server is asked. */
const LOOK_MS = 5_000;

export function followHeard(): void {
  if (!document.querySelector("[data-heard]")) return;
  setInterval(() => {
    if (!document.hidden) void look();
  }, LOOK_MS);
}

async function look(): Promise<void> {
  const answer = await fetch(location.pathname).catch(() => undefined);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const place of document.querySelectorAll<HTMLElement>("[data-heard]")) {
    const now = page.querySelector<HTMLElement>(`[data-heard="${place.dataset["heard"]}"]`);
    if (!now || now.textContent === place.textContent) continue;
    place.className = now.className;
    place.replaceChildren(...now.childNodes);
  }
}
