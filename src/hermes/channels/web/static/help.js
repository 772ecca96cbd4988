// The list of keys, and the choice of light and dark.

import { element } from "./element.js";
import { find } from "./page.js";
import { say } from "./strings.js";

const KEYS = [
  ["keys.send", "Enter"],
  ["keys.line", "Shift Enter"],
  ["keys.stop", "Esc"],
  ["keys.new", "{ctrl} K"],
  ["keys.find", "{ctrl} /"],
  ["keys.edit", "↑"],
  ["keys.commands", "/"],
  ["keys.help", "?"],
];
const THEMES = ["auto", "light", "dark"];

export function showHelp(control) {
  const rows = KEYS.flatMap(([name, keys]) => {
    const held = element("dd");
    for (const key of keys.replace("{ctrl}", control).split(" ")) held.append(element("kbd", "", key), " ");
    return [element("dt", "", say(name)), held];
  });
  find("help-keys").replaceChildren(...rows);
  find("help").showModal();
}

export function setUpHelp() {
  find("help-title").textContent = say("keys.title");
  find("help-close").textContent = say("keys.close");
  find("help-close").addEventListener("click", () => find("help").close());
  find("help").addEventListener("keydown", (event) => event.stopPropagation());
  useTheme(theme());
}

export function theme() {
  const kept = localStorage.getItem("theme");
  return THEMES.includes(kept) ? kept : "auto";
}

export function useTheme(name) {
  localStorage.setItem("theme", name);
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}

export const themeItems = () =>
  THEMES.map((name) => ({
    label: say(`theme.${name}`),
    isChosen: theme() === name,
    action: () => useTheme(name),
  }));
