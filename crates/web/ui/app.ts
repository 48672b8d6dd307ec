// Makes complete pages nicer: times in the browser's zone, keyboard shortcuts, theme without a reload. Every page works
// without it.

import { drawCharts } from "./charts";
import { followHeard } from "./connect";
import { followDecisionLinks } from "./decisions";
import { fields } from "./forms";
import { followLive } from "./live";
import { readNews } from "./news";
import { explainRowKeys, rowKey } from "./rows";
import { followSearch, saySearchIsLive } from "./search";
import { countDown, localiseTimes } from "./times";
import { tryInPlace } from "./tryout";

const KEYS_OFF = "weir-keys-off";
/** How long `g` waits for the second key. */
const SECOND_KEY_MS = 1500;
/** How long a button says that it copied. */
const COPIED_MS = 2000;

function nameZone(): void {
  const zone = document.getElementById("zone");
  if (zone) zone.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
}

// Asks in a dialog what has a page of its own without script.
function askInPlace(): void {
  // The link may be replaced by a later state of the page.
  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    target?.closest<HTMLElement>("[data-close]")?.closest("dialog")?.close();
    const link = target?.closest<HTMLAnchorElement>("a[data-dialog]");
    const dialog = link && document.querySelector<HTMLDialogElement>(`dialog#${link.dataset["dialog"]}`);
    if (!dialog || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    dialog.showModal();
  });
}

/** Copies a field. The clipboard is available only on https and on this machine; the older way works everywhere. */
async function copyField(field: HTMLInputElement | HTMLTextAreaElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    field.focus();
    field.select();
    return document.execCommand("copy");
  }
}

function offerCopies(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-copy]")) {
    const field = document.querySelector<HTMLInputElement | HTMLTextAreaElement>(`#${button.dataset["copy"]}`);
    if (!field) continue;
    // It is there before it says anything: only then is it read aloud.
    const says = document.createElement("span");
    says.className = "says";
    says.role = "status";
    button.after(says);
    let timer = 0;
    const quiet = (): void => {
      button.classList.remove("done");
      says.textContent = "";
    };
    field.addEventListener("focus", () => field.select());
    field.addEventListener("blur", quiet);
    button.hidden = false;
    button.addEventListener("click", async () => {
      const copied = await copyField(field);
      clearTimeout(timer);
      if (!copied) {
        // The field has the focus, and everything in it is selected.
        says.textContent = "Selected: press Ctrl+C";
        return;
      }
      button.focus();
      button.classList.add("done");
      says.textContent = "Copied";
      timer = window.setTimeout(quiet, COPIED_MS);
    });
  }
}

// Storage may be switched off; then the shortcuts stay enabled.
function keysAct(): boolean {
  try {
    return localStorage.getItem(KEYS_OFF) === null;
  } catch {
    return true;
  }
}

function setKeysAct(act: boolean): void {
  try {
    if (act) localStorage.removeItem(KEYS_OFF);
    else localStorage.setItem(KEYS_OFF, "1");
  } catch {
    // There is nowhere to remember it.
  }
}

function help(dialog: HTMLDialogElement): void {
  explainRowKeys();
  dialog.showModal();
}

function keysDialog(): HTMLDialogElement | null {
  const dialog = document.querySelector<HTMLDialogElement>("dialog#keys");
  const open = document.getElementById("keys-open");
  const act = document.querySelector<HTMLInputElement>("#keys-on");
  if (!dialog || !open || !act) return null;
  open.hidden = false;
  act.checked = keysAct();
  open.addEventListener("click", () => help(dialog));
  act.addEventListener("change", () => setKeysAct(act.checked));
  return dialog;
}

async function switchTheme(): Promise<void> {
  const form = document.querySelector<HTMLFormElement>("form.theme");
  if (!form) return;
  const root = document.documentElement;
  const dark = root.dataset["theme"]
    ? root.dataset["theme"] === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = dark ? "light" : "dark";
  const body = fields(form);
  body.set("theme", theme);
  const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" });
  if (!answer.ok && answer.type !== "opaqueredirect") return;
  root.dataset["theme"] = theme;
  for (const button of document.querySelectorAll<HTMLButtonElement>("form.theme button")) {
    button.ariaPressed = String(button.value === theme);
  }
}

function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function page(key: string): HTMLAnchorElement | undefined {
  return [...document.querySelectorAll<HTMLAnchorElement>("a[data-key]")].find((link) => link.dataset["key"] === key);
}

function listenForKeys(dialog: HTMLDialogElement | null): void {
  let going = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape") {
      for (const open of document.querySelectorAll<HTMLDetailsElement>("details.account[open]")) {
        open.open = false;
        open.querySelector("summary")?.focus();
      }
      return;
    }
    if (!keysAct() || typing(event.target) || dialog?.open) return;
    const second = event.timeStamp - going < SECOND_KEY_MS && going > 0;
    going = 0;
    if (second) {
      const link = page(event.key);
      if (link) {
        event.preventDefault();
        link.click();
      }
      return;
    }
    switch (event.key) {
      case "?":
        event.preventDefault();
        if (dialog) help(dialog);
        break;
      case "g":
        going = event.timeStamp;
        break;
      case "t":
        void switchTheme();
        break;
      case "/": {
        const field = document.querySelector<HTMLInputElement>("input[type=search]");
        if (field) {
          event.preventDefault();
          field.focus();
        }
        break;
      }
      default:
        if (rowKey(event.key)) event.preventDefault();
    }
  });
}

nameZone();
drawCharts();
localiseTimes(document);
saySearchIsLive();
followSearch();
followHeard();
followLive();
offerCopies();
countDown();
askInPlace();
tryInPlace();
readNews();
followDecisionLinks();
listenForKeys(keysDialog());
