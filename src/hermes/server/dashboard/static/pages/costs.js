// Costs: what model calls cost, by person, agent, channel, key, model and day.

import { save } from "../action.js";
import { barChart, lineChart } from "../chart.js";
import { el } from "../dom.js";
import { fieldsOf, formFields } from "../form.js";
import { count, money } from "../format.js";
import { give, order } from "../gateway.js";
import { t } from "../strings.js";
import { empty, loading, table } from "../table.js";

const ASKED = ["by", "days", "month", "first_day", "last_day"];
const COLUMNS = [["name", "code"], ["label"], ["calls", "count"], ["cached_calls", "count"], ["tokens_in", "count"], ["tokens_out", "count"], ["cost_usd", "money"], ["assumed_usd", "money"], ["unpriced_tokens", "count"]];
const MOST_BARS = 15;

export function show(view) {
  const asked = Object.fromEntries(ASKED.map((name) => [name, view.query.get(name) ?? ""]));
  const fields = fieldsOf(order("costs.show"), { named: ASKED }).map((field) => ({ ...field, help: "" }));
  const form = formFields(fields, { values: { ...asked, by: asked.by || "model" } });
  function submit(event) {
    event.preventDefault();
    view.go(`${view.path}?${new URLSearchParams(Object.entries(form.read()))}`);
  }
  const body = el("div", { class: "list" });
  const again = loading(body, () => report(view, asked), view);
  view.onRefresh(again);
  view.main.append(
    el("form", { class: "filters", on: { submit } }, form.nodes, el("button", { type: "submit", class: "button" }, t("filter"))),
    body,
  );
  return again();
}

async function report(view, asked) {
  const { by, ...span } = asked;
  const shown = await give("costs.show", { ...span, by: by || "model" }, view);
  const days = await give("costs.show", { ...span, by: "day" }, view);
  const head = el("p", {}, t("costs.total", {
    first: shown.first_day, last: shown.last_day, cost: money(shown.total.cost_usd), calls: count(shown.total.calls),
  }));
  if (!shown.rows.length) return [head, empty(t("costs.none"))];
  const bars = shown.rows.slice(0, MOST_BARS).map(({ name, label, cost_usd: value }) => ({ label: label || name || t("none"), value }));
  return [
    head,
    el("div", { class: "charts" }, overDays(days), barChart(t("costs.by", { by: shown.by }), { rows: bars, format: money })),
    el("div", { class: "top-actions" }, el("button", { type: "button", class: "button", on: { click: () => download(shown) } }, t("costs.csv"))),
    table(view.title, COLUMNS, shown.rows),
  ];
}

const DAY_S = 86400;
const MOST_DAYS = 400;

// A day without a call cost nothing; the report leaves it out.
function overDays({ first_day: first, last_day: last, rows }) {
  const costs = new Map(rows.map(({ name, cost_usd: cost }) => [name, cost]));
  const end = Date.parse(last) / 1000;
  const begin = Math.max(Date.parse(first) / 1000, end - MOST_DAYS * DAY_S);
  const times = Array.from({ length: Math.round((end - begin) / DAY_S) + 1 }, (_, index) => begin + index * DAY_S);
  const values = times.map((at) => costs.get(new Date(at * 1000).toISOString().slice(0, 10)) ?? 0);
  return lineChart(t("costs.days"), { times, series: [{ name: t("costs.cost"), values }], format: money });
}

function download({ by, first_day: first, last_day: last, rows }) {
  const names = COLUMNS.map(([name]) => name);
  const lines = [names, ...rows.map((row) => names.map((name) => row[name]))];
  save(`costs-by-${by}-${first}-${last}.csv`, "text/csv", `${lines.map((line) => line.map(cell).join(",")).join("\r\n")}\r\n`);
}

// A spreadsheet runs a text that begins like a formula; names are chosen by strangers.
function cell(value) {
  if (typeof value === "number") return String(value);
  const text = String(value ?? "");
  const safe = ["=", "+", "-", "@", "\t", "\r"].includes(text[0]) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
