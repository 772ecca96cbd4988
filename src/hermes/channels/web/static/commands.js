// The list of commands that opens while a message begins with a slash.

import { getMenu } from "./api.js";
import { element } from "./element.js";
import { find } from "./page.js";
import { say } from "./strings.js";

const MOST = 8;
const TYPING = /^\/([A-Za-z][\w-]*)?$/;
const text = find("text");
const list = find("commands");
let commands = null;
let shown = [];
let at = 0;

export function setUpCommands(onPick) {
  list.setAttribute("aria-label", say("commands.title"));
  text.setAttribute("aria-autocomplete", "list");
  text.setAttribute("aria-controls", "commands");
  text.addEventListener("input", () => show(onPick));
  text.addEventListener("blur", close);
}

// Returns whether the list has used a key.
export function commandKey(event) {
  if (list.hidden) return false;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) mark((at + step + shown.length) % shown.length);
  else if (event.key === "Escape") close();
  else if (event.key === "Tab" || (event.key === "Enter" && !isWhole())) list.children[at].click();
  else return false;
  event.preventDefault();
  return true;
}

// A command that is written out is sent, not completed.
const isWhole = () => shown[at].name === text.value.slice(1).toLowerCase();

function close() {
  list.hidden = true;
  text.removeAttribute("aria-activedescendant");
}

async function show(onPick) {
  if (!TYPING.test(text.value)) {
    close();
    return;
  }
  commands ??= (await getMenu().catch(() => null))?.commands ?? null;
  const typed = TYPING.exec(text.value);
  if (!typed || !commands) return;
  const begun = (typed[1] ?? "").toLowerCase();
  shown = commands.filter(({ name }) => name.startsWith(begun)).slice(0, MOST);
  list.replaceChildren(...shown.map((command, number) => option(command, number, onPick)));
  list.hidden = !shown.length;
  if (shown.length) mark(0);
}

function option({ name, use, about }, number, onPick) {
  const node = element("li", "command");
  node.id = `command-${number}`;
  node.setAttribute("role", "option");
  node.append(element("span", "menu-label", `/${name}${use ? ` ${use}` : ""}`), element("span", "menu-detail", about));
  // Before the text loses the focus.
  node.addEventListener("pointerdown", (event) => event.preventDefault());
  node.addEventListener("click", () => {
    text.value = `/${name}${use ? " " : ""}`;
    close();
    onPick();
    text.focus();
  });
  return node;
}

function mark(number) {
  at = number;
  [...list.children].forEach((node, place) => node.setAttribute("aria-selected", String(place === at)));
  list.children[at].scrollIntoView({ block: "nearest" });
  text.setAttribute("aria-activedescendant", list.children[at].id);
}
