// The walk of a page by Tab: it reaches everything that can be used, in the order of the page, each with a visible focus, and leaves
// again; the skip link comes first.

import assert from "node:assert/strict";

const TABS_AT_ONCE = 25;
const TABS_MAX = 600;

/** Tab from the start of the page until it begins again. */
export async function walk(page) {
  await page.evaluate(() => window.beginWalk());
  let state;
  for (let tabs = 0; !(state = await page.evaluate(() => window.walked())).isRound; tabs += TABS_AT_ONCE) {
    assert.ok(tabs < TABS_MAX, `Tab does not leave: ${state.last}`);
    for (let n = 0; n < TABS_AT_ONCE; n++) await page.keyboard.press("Tab");
  }
  assert.deepEqual(state.problems, []);
  assert.ok(state.count > 1, "there is nothing to walk");
}

/** Runs in each page of a context, before its own scripts. */
export function remember() {
  const USABLE = "a[href], button, input, select, textarea, summary, [tabindex], audio[controls], video[controls]";
  const SHOWN = ["outline", "boxShadow", "borderColor", "backgroundColor", "color", "stroke", "strokeWidth", "fill", "textDecoration", "opacity", "clipPath"];
  let expected, before, visits;

  const name = (element) => {
    const words = (element.getAttribute("aria-label") || element.textContent || "").trim().replaceAll(/\s+/g, " ");
    return `<${element.localName} ${element.id || element.name || element.className?.baseVal || element.className || ""}> ${words.slice(0, 40)}`;
  };
  const isStop = (element) => {
    if (element.tabIndex < 0 || element.disabled || element.type === "hidden") return false;
    if (!element.checkVisibility({ visibilityProperty: true })) return false;
    if (element.localName === "summary" && element.parentElement.querySelector(":scope > summary") !== element) return false;
    if (element.type !== "radio") return true;
    // Of a group the arrows reach the others.
    const group = [...(element.form ?? document).querySelectorAll("input[type=radio]")].filter((one) => one.name === element.name && !one.disabled);
    return (group.find((one) => one.checked) ?? group[0]) === element;
  };
  /** How the element and what stands around it look. */
  const looks = (element) => {
    const around = [element, element.parentElement, element.parentElement?.parentElement, element.nextElementSibling];
    around.push(...[...element.querySelectorAll("*")].slice(0, 6));
    return around
      .filter(Boolean)
      .flatMap((one) => ["", "::before", "::after"].map((part) => getComputedStyle(one, part || null)))
      .map((style) => SHOWN.map((property) => style[property]).join())
      .join("|");
  };

  window.beginWalk = () => {
    for (const fold of document.querySelectorAll("details")) fold.open = true;
    // From the top, wherever the page has put the focus.
    const top = document.createElement("div");
    top.tabIndex = -1;
    document.body.prepend(top);
    top.focus();
    top.remove();
    expected = [...document.querySelectorAll(USABLE)].filter(isStop);
    before = new Map(expected.map((element) => [element, looks(element)]));
    visits = [];
    document.addEventListener("focusin", ({ target }) => {
      const rect = target.getBoundingClientRect();
      visits.push({ target, looks: looks(target), isSeen: rect.width > 0 && rect.height > 0 });
    });
  };

  window.walked = () => {
    const again = visits.findIndex(({ target }, n) => visits.findIndex((one) => one.target === target) < n);
    const round = again < 0 ? visits : visits.slice(0, again);
    const reached = round.map(({ target }) => target);
    const problems = [];
    if (again >= 0) {
      if (visits[again].target !== reached[0]) problems.push(`the second round begins at ${name(visits[again].target)}`);
      if (!reached[0].matches(".skip")) problems.push(`the first is ${name(reached[0])}`);
      for (const element of expected) if (!reached.includes(element)) problems.push(`not reached: ${name(element)}`);
      for (const element of reached) if (element.tabIndex > 0) problems.push(`out of order: ${name(element)}`);
      for (let n = 1; n < reached.length; n++) {
        const follows = reached[n - 1].compareDocumentPosition(reached[n]) & Node.DOCUMENT_POSITION_FOLLOWING;
        if (!follows) problems.push(`${name(reached[n])} comes after ${name(reached[n - 1])}`);
      }
      for (const { target, looks, isSeen } of round) {
        if (!isSeen || looks === before.get(target)) problems.push(`no visible focus: ${name(target)}`);
      }
    }
    return { isRound: again >= 0, problems, count: reached.length, last: reached.length ? name(reached.at(-1)) : "nothing" };
  };
}
