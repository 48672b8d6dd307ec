// Links to a single decision: `#d-123`. It may be folded into a run, or on another page.

const LINK = /^#d-(\d+)$/;

function show(): void {
  const number = Number(LINK.exec(location.hash)?.[1]);
  if (!number || !document.getElementById("decision-rows")) return;
  const row = document.getElementById(location.hash.slice(1));
  if (row) {
    const run = row.closest("details");
    if (run && !run.open) {
      run.open = true;
      row.scrollIntoView({ block: "center" });
    }
    return;
  }
  const page = new URL(location.href);
  // The page that begins with it, once: it may be gone.
  if (page.searchParams.get("before") === String(number + 1)) return;
  page.searchParams.set("before", String(number + 1));
  page.searchParams.delete("what");
  location.replace(page);
}

export function followDecisionLinks(): void {
  addEventListener("hashchange", show);
  show();
}
