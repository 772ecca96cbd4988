// The scrolling part of the page: it stays at the newest message until the person scrolls up.

import { find } from "./page.js";

const scroll = find("scroll");
let sticks = true;

export function stick() {
  if (sticks) scroll.scrollTop = scroll.scrollHeight;
}

export function toEnd() {
  sticks = true;
  find("jump").hidden = true;
  stick();
}

export function scrollDown(pixels) {
  scroll.scrollTop += pixels;
}

function onScroll() {
  sticks = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 60;
  find("jump").hidden = sticks;
}

export function setUpScroll() {
  scroll.addEventListener("scroll", onScroll, { passive: true });
  find("jump").addEventListener("click", toEnd);
}
