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
  choose: (page, target, label) => target.selectOption({ label }),
  tick: (page, target) => target.check(),
  date: (page, target, day) => target.fill(day),
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
  async choose(page, target, label) {
    await reach(page, target);
    const chosen = () => target.evaluate((one) => one.selectedOptions[0].label);
    const all = await target.evaluate((one) => one.options.length);
    await page.keyboard.press('Home');
    for (let steps = 0; steps < all && (await chosen()) !== label; steps += 1) await page.keyboard.press('ArrowDown');
    assert.equal(await chosen(), label);
  },
  async tick(page, target) {
    await reach(page, target);
    await page.keyboard.press('Space');
  },
  // As an American browser has its parts.
  async date(page, target, day) {
    await reach(page, target);
    const [year, month, date] = day.split('-');
    await page.keyboard.type(`${month}${date}${year}`);
    assert.equal(await target.inputValue(), day);
  },
};

/** `how` is for the test's name, `options` for `visit`. */
export const WAYS = [
  { how: 'with script', options: {}, ...pointer },
  { how: 'without script', options: { javaScriptEnabled: false }, ...pointer },
  { how: 'by keyboard alone', options: {}, ...keyboard },
];
