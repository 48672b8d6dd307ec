// *Try it* in place: the form is sent as it is without script, and what the server would have written into the next page is
// brought into this one. What was typed stays, secrets too, and so do focus and scroll.

import { fields } from "./forms";

const FORM = "form[data-tries]";
/** What the server says of a tryout. Any other answer is a page of its own. */
const SAYS = [200, 422, 429];
const NOTICES = "#mistakes, #tried";

type Control = HTMLInputElement | HTMLSelectElement;

export function tryInPlace(): void {
  const form = document.querySelector<HTMLFormElement>(FORM);
  const outcome = form?.querySelector<HTMLElement>("[data-outcome]");
  if (form && outcome) new Tryout(form, outcome).start();
}

class Tryout {
  readonly #form: HTMLFormElement;
  readonly #outcome: HTMLElement;
  #waits = false;
  #leaves = false;

  constructor(form: HTMLFormElement, outcome: HTMLElement) {
    this.#form = form;
    this.#outcome = outcome;
  }

  start(): void {
    this.#form.addEventListener("submit", (event) => {
      const button = event.submitter;
      if (this.#leaves || !(button instanceof HTMLButtonElement) || button.value !== "try") return;
      event.preventDefault();
      if (!this.#waits) void this.#send(button);
    });
  }

  async #send(button: HTMLButtonElement): Promise<void> {
    this.#waits = true;
    for (const old of document.querySelectorAll(NOTICES)) old.remove();
    this.#outcome.textContent = this.#outcome.dataset["waiting"] ?? "";
    const sent = fields(this.#form, button);
    try {
      const answer = await fetch(this.#form.action, { method: "POST", body: sent, headers: { accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = answer.redirected || !SAYS.includes(answer.status) ? null : page.querySelector(FORM);
      if (fresh) this.#take(page, fresh, sent);
      else this.#leave(button);
    } catch {
      this.#outcome.textContent = this.#outcome.dataset["lost"] ?? "";
    } finally {
      this.#waits = false;
    }
  }

  /** Sends it as without script: a page of its own says what happened. */
  #leave(button: HTMLButtonElement): void {
    this.#leaves = true;
    this.#form.requestSubmit(button);
    this.#leaves = false;
  }

  #take(page: Document, fresh: Element, sent: URLSearchParams): void {
    for (const field of fresh.querySelectorAll(".field")) this.#takeField(field, sent);
    const details = this.#form.querySelector("details");
    if (details && fresh.querySelector("details[open]")) details.open = true;
    const notices = [...page.querySelectorAll(NOTICES)];
    // The place that they come to is read aloud by itself, and nothing takes the focus.
    for (const notice of notices) for (const name of ["role", "tabindex", "autofocus"]) notice.removeAttribute(name);
    this.#outcome.replaceChildren(...notices);
    this.#outcome.scrollIntoView({ block: "nearest" });
  }

  #takeField(fresh: Element, sent: URLSearchParams): void {
    const theirs = fresh.querySelector<Control>("input[id], select[id]");
    const ours = theirs && this.#form.querySelector<Control>(`#${theirs.id}`);
    const field = ours?.closest(".field");
    if (!ours || !field) return;
    // What the upstream told; nothing that somebody has typed or emptied since.
    if (ours.value === "" && sent.get(ours.name) === "" && theirs.value !== "") ours.value = theirs.value;
    for (const name of ["aria-invalid", "aria-describedby"]) {
      const value = theirs.getAttribute(name);
      if (value === null) ours.removeAttribute(name);
      else ours.setAttribute(name, value);
    }
    field.querySelector(".mistake")?.remove();
    const [old, hint] = [field.querySelector(".hint"), fresh.querySelector(".hint")];
    if (!old || !hint) return;
    // What was typed is still in its field.
    if (!old.querySelector(".remembered")) hint.querySelector(".remembered")?.remove();
    const mistake = fresh.querySelector(".mistake");
    old.replaceWith(...(mistake ? [mistake] : []), hint);
  }
}
