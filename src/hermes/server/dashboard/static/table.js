// A paged table with filters in the address, and words for loading, for no rows and for an error.

import { el } from "./dom.js";
import { FORMATS } from "./format.js";
import { label, t } from "./strings.js";
import { wordsOf } from "./toast.js";

// Returns a table of rows. A column is [name, format] or [name, format, read]; `cell` may turn the first
// column into a link, `actions` adds buttons to a row.
export function table(caption, columns, rows, { link, actions, picked } = {}) {
  const heads = columns.map(([name]) => el("th", { scope: "col" }, label(name)));
  if (picked) heads.unshift(el("th", { scope: "col" }, el("span", { class: "hidden" }, t("pick"))));
  if (actions) heads.push(el("th", { scope: "col" }, el("span", { class: "hidden" }, t("actions"))));
  const body = rows.map((row) => rowOf(columns, row, { link, actions, picked }));
  return el(
    "div",
    { class: "table", role: "region", tabindex: 0, "aria-label": caption },
    el("table", {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, body)),
  );
}

function rowOf(columns, row, { link, actions, picked }) {
  const cells = columns.map(([name, format = "text", read], index) => {
    const value = read ? read(row) : row[name];
    const shown = FORMATS[format](value);
    const target = index === 0 ? link?.(row) : null;
    const content = target ? el("a", { href: target }, shown) : shown;
    return el("td", { "data-label": label(name), class: `as-${format}` }, content);
  });
  if (picked) cells.unshift(el("td", { "data-label": t("pick") }, pickBox(row, picked, String(row[columns[0][0]]))));
  if (actions) cells.push(el("td", { class: "row-actions" }, actions(row)));
  return el("tr", {}, cells);
}

function pickBox(row, picked, name) {
  const change = () => (box.checked ? picked.add(row) : picked.delete(row));
  const box = el("input", { type: "checkbox", "aria-label": t("pick.row", { name }), on: { change } });
  return box;
}

// Shows what `load` returns, and its state meanwhile; returns a function that loads again.
export function loading(place, load, { signal } = {}) {
  async function again() {
    place.setAttribute("aria-busy", "true");
    if (!place.childElementCount) place.replaceChildren(el("p", { class: "quiet", role: "status" }, t("loading")));
    try {
      const shown = await load();
      if (!signal?.aborted) place.replaceChildren(...[shown].flat());
    } catch (error) {
      if (!signal?.aborted) place.replaceChildren(problem(error, again));
    }
    place.removeAttribute("aria-busy");
  }
  return again;
}

export function problem(error, again) {
  return el(
    "div",
    { class: "trouble", role: "alert" },
    el("p", {}, wordsOf(error)),
    el("button", { type: "button", class: "button", on: { click: again } }, t("again")),
  );
}

export const empty = (words) => el("p", { class: "empty" }, words);
