// Any value of JSON as something to read: lists of definitions, tables, texts.

import { el } from "./dom.js";
import { exactly, text } from "./format.js";
import { label } from "./strings.js";

const DEEPEST = 6;

export function detail(value, depth = 0) {
  if (Array.isArray(value)) return listOf(value, depth);
  if (value === null || typeof value !== "object") return leaf("", value);
  if (depth > DEEPEST) return el("pre", {}, JSON.stringify(value, null, 2));
  const rows = Object.entries(value).flatMap(([name, one]) => [
    el("dt", {}, label(name)),
    el("dd", {}, one !== null && typeof one === "object" ? detail(one, depth + 1) : leaf(name, one)),
  ]);
  return el("dl", { class: "detail" }, rows);
}

function listOf(values, depth) {
  if (!values.length) return leaf("", null);
  if (values.every((one) => one === null || typeof one !== "object")) return leaf("", values.join(", "));
  return el("ol", { class: "detail-list" }, values.map((one) => el("li", {}, detail(one, depth + 1))));
}

const isTime = (name) => name === "at" || name.endsWith("_at") || name === "last_in" || name === "last_out" || name === "since";

function leaf(name, value) {
  if (typeof value === "number" && isTime(name)) return exactly(value);
  const shown = text(value);
  return shown.includes("\n") ? el("pre", {}, shown) : el("span", {}, shown);
}
