// Short notes at the edge of the page: what was done, or what failed and what to do about it.

import { el, find } from "./dom.js";
import { t } from "./strings.js";

const SHOWN_MS = 6000;

export function say(text) {
  const note = el("div", { class: "toast", role: "status" }, el("p", {}, text));
  put(note);
  setTimeout(() => note.remove(), SHOWN_MS);
}

// Stays until it is closed: an error must not vanish while it is read.
export function complain(error) {
  put(el("div", { class: "toast bad", role: "alert" }, el("p", {}, wordsOf(error))));
}

export function wordsOf(error) {
  if (error instanceof TypeError) return t("error.unreachable");
  if (error.refusal) return t("error.refusal", { message: error.message, id: error.refusal });
  return error.message;
}

function put(note) {
  const close = el("button", { type: "button", "aria-label": t("close"), on: { click: () => note.remove() } }, "×");
  note.append(close);
  find("toasts").append(note);
}
