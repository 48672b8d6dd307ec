// Forms that are sent without leaving the page.

/** What a form would send, by this button if it has several. */
export function fields(form: HTMLFormElement, button?: HTMLButtonElement): URLSearchParams {
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form, button)) if (typeof value === "string") body.append(name, value);
  return body;
}
