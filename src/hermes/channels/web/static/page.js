// Pieces of the page that several parts use: its elements, its title, its announcements, new ids.

import { element } from "./element.js";
import { say } from "./strings.js";

export const find = (id) => document.getElementById(id);

// `randomUUID` exists only on https and localhost, not on a plain address of the local net.
export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function setTitle(said) {
  const title = (said ?? "").trim().split("\n")[0].slice(0, 80) || say("conversation.new");
  find("title").textContent = title;
  document.title = title === say("conversation.new") ? "Hermes" : `${title} · Hermes`;
}

export function announce(said) {
  const holder = find("announcer");
  holder.append(element("p", "", said));
  while (holder.childElementCount > 20) holder.firstChild.remove();
}

export function showLink(isUp) {
  const link = find("link");
  link.hidden = isUp;
  link.textContent = isUp ? "" : navigator.onLine
    ? say("link.lost") : say("link.offline");
}
