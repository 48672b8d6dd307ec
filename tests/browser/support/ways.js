// Ways in which people use a form: with a pointer, with script and without, and with the keyboard alone.

import assert from 'node:assert/strict';

/** More than any page has. */
const STOPS = 300;

/** Presses Tab until this has the focus. */
async function reach(page, target) {
  const handle = await target.elementHandle();
  for (let steps = 0; steps < STOPS; steps += 1) {
    if (await handle.evaluate((one) => one === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`Tab never reaches ${target}`);
}

const pointer = {
  press: (page, target) => target.click(),
  write: (page, target, text) => target.fill(text),
};

const keyboard = {
  async press(page, target) {
    await reach(page, target);
    await page.keyboard.press('Enter');
  },
  async write(page, target, text) {
    await reach(page, target);
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(text);
  },
};

/** `how` is for the test's name, `options` for `visit`. */
export const WAYS = [
  { how: 'with script', options: {}, ...pointer },
  { how: 'without script', options: { javaScriptEnabled: false }, ...pointer },
  { how: 'by keyboard alone', options: {}, ...keyboard },
];
