// The list of conversations, and how the sidebar opens and closes on wide and small screens.

import { find } from "./page.js";
import { element } from "./element.js";
import { say } from "./strings.js";

const SMALL = matchMedia("(max-width: 48rem)");
const body = document.body;

export function setUpSidebar() {
  find("open-sidebar").addEventListener("click", () => show(true));
  find("close-sidebar").addEventListener("click", () => show(false));
  find("shade").addEventListener("click", () => show(false));
  find("find-conversation").placeholder = say("list.search");
  find("find-conversation").ariaLabel = say("list.search");
  find("find-conversation").addEventListener("input", () => drawConversations(...known));
  SMALL.addEventListener("change", apply);
  body.classList.toggle("narrow", remembered());
  apply();
}

export function closeOverlay() {
  if (!SMALL.matches || !body.classList.contains("open")) return false;
  show(false);
  return true;
}

function show(isShown) {
  if (SMALL.matches) {
    body.classList.toggle("open", isShown);
  } else {
    body.classList.toggle("narrow", !isShown);
    localStorage.setItem("sidebar", isShown ? "shown" : "hidden");
  }
  apply();
  find(isShown ? "close-sidebar" : "open-sidebar").focus();
}

function apply() {
  if (!SMALL.matches) body.classList.remove("open");
  const isShown = SMALL.matches ? body.classList.contains("open") : !body.classList.contains("narrow");
  find("open-sidebar").setAttribute("aria-expanded", String(isShown));
  find("main").inert = SMALL.matches && isShown;
}

function remembered() {
  return localStorage.getItem("sidebar") === "hidden";
}

let drawn = "";
let known = [[], ""];

export function focusSearch() {
  if (find("open-sidebar").getAttribute("aria-expanded") === "false") show(true);
  find("find-conversation").focus();
}

// The conversations whose titles have every word that is searched for.
function matching(conversations) {
  const words = find("find-conversation").value.toLowerCase().split(/\s+/);
  return conversations.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
}

// What has not changed is not drawn again: it would lose the focus.
export function drawConversations(conversations, current) {
  known = [conversations, current];
  const found = matching(conversations);
  const now = JSON.stringify([conversations, found.map(({ id }) => id), current, new Date().toDateString()]);
  if (drawn === now) return;
  drawn = now;
  const holder = find("conversations");
  const focused = holder.contains(document.activeElement) ? document.activeElement.href : null;
  draw(holder, found, current);
  if (conversations.length && !found.length) holder.replaceChildren(element("p", "none", say("list.no_match")));
  [...holder.querySelectorAll("a")].find(({ href }) => href === focused)?.focus();
  showWaiting(conversations.filter(({ waiting }) => waiting).length);
}

// The button that opens the hidden list has the mark, too.
function showWaiting(count) {
  const button = find("open-sidebar");
  const verb = count === 1 ? "waits" : "wait";
  button.classList.toggle("waiting", count > 0);
  button.ariaLabel = count ? `Show conversations: ${count} ${verb} for approval` : "Show conversations";
}

function draw(holder, conversations, current) {
  const groups = new Map();
  for (const conversation of conversations) {
    const day = dayOf(conversation.at);
    if (!groups.has(day)) groups.set(day, []);
    groups.get(day).push(conversation);
  }
  holder.replaceChildren();
  if (!conversations.length) holder.append(element("p", "none", say("list.none")));
  for (const [day, items] of groups) holder.append(element("h2", "", day), listOf(items, current));
}

function listOf(items, current) {
  const list = element("ul");
  for (const conversation of items) {
    const item = element("li");
    item.append(linkTo(conversation, conversation.id === current));
    list.append(item);
  }
  return list;
}

function linkTo({ id, title, temporary, waiting }, isCurrent) {
  const link = element("a");
  link.href = `#/${encodeURIComponent(id)}`;
  if (isCurrent) link.setAttribute("aria-current", "page");
  link.append(element("span", "name", title || "Conversation"));
  if (waiting) link.append(" ", element("span", "mark waiting", "waits for approval"));
  if (temporary) link.append(" ", element("span", "mark", "temporary"));
  return link;
}

function dayOf(at) {
  const midnight = new Date().setHours(0, 0, 0, 0);
  if (at * 1000 >= midnight) return "Today";
  if (at * 1000 >= midnight - 86400000) return "Yesterday";
  return at * 1000 >= midnight - 7 * 86400000 ? "This week" : "Earlier";
}
