// HTML from the server, as elements of the page.

import { localiseTimes } from "./times";

/** The element that some HTML is, with its times in the browser's zone. */
export function parsed(html: string): HTMLElement | null {
  const template = document.createElement("template");
  template.innerHTML = html;
  localiseTimes(template.content);
  return template.content.firstElementChild as HTMLElement | null;
}
