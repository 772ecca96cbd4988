// Every message by any filter, the newest first; a rare one takes several searches.

import { el } from "../dom.js";
import { fieldsOf, formFields } from "../form.js";
import { exactly } from "../format.js";
import { give, order } from "../gateway.js";
import { t } from "../strings.js";
import { empty, loading, table } from "../table.js";

const FILTERS = ["user", "platform", "agent", "model", "outcome", "least_usd"];
const TIMES = ["since", "until"];
const LIMIT = 50;
// Searches in a row that each found less than a page.
const MOST_SEARCHES = 20;
const COLUMNS = [
  ["at", "when"],
  ["outcome", "state", (row) => row.outcome ?? row.state],
  ["person_id", "code"],
  ["platform"],
  ["agent"],
  ["model"],
  ["duration", "duration", (row) => row.duration_s],
  ["cost_usd", "money", (row) => (row.model ? row.cost_usd : 0)],
];
const WORDS = [["text"], ["reply"]];

export function show(view) {
  const body = el("div", { class: "list" });
  const again = loading(body, () => content(view), view);
  view.main.append(filterForm(view), body);
  view.onRefresh(again);
  return again();
}

const hasWords = (view) => view.query.get("words") === "on";

function asked(view) {
  const fields = { limit: LIMIT };
  for (const name of FILTERS) fields[name] = view.query.get(name) ?? "";
  for (const name of TIMES) fields[name] = secondsOf(view.query.get(name));
  return fields;
}

const secondsOf = (text) => (text ? new Date(text).getTime() / 1000 || "" : "");

async function content(view) {
  const status = el("p", { class: "quiet", role: "status" });
  const holder = el("div", {}, status);
  const more = el("button", { type: "button", class: "button more", on: { click: () => add(null) } });
  let before = "";

  async function add(first) {
    more.disabled = true;
    const rows = first ?? (await search());
    if (rows.length) holder.insertBefore(tableOf(view, rows), status);
    more.disabled = false;
  }

  async function search() {
    const found = [];
    let report;
    for (let round = 0; round < MOST_SEARCHES && found.length < LIMIT; round += 1) {
      report = await give(hasWords(view) ? "messages.list_with_text" : "messages.list", { ...asked(view), before }, view);
      found.push(...(report.messages ?? []));
      before = report.next ?? "";
      if (!report.searched_to || !report.next) break;
      status.textContent = t("messages.searched", { time: exactly(report.searched_to) });
    }
    if (!before) {
      more.remove();
      status.textContent = found.length || holder.childElementCount > 2 ? "" : t("messages.none");
    } else more.textContent = report.searched_to ? t("messages.search_on") : t("more");
    if (!report.searched_to) status.textContent = before ? "" : status.textContent;
    return found;
  }

  holder.append(more);
  const rows = await search();
  if (!rows.length && !before) return empty(t("messages.none"));
  await add(rows);
  return holder;
}

function tableOf(view, rows) {
  const columns = hasWords(view) ? [...COLUMNS, ...WORDS] : COLUMNS;
  return table(view.title, columns, rows, { link: (row) => `/dashboard/message/${encodeURIComponent(row.id)}` });
}

function filterForm(view) {
  const values = Object.fromEntries(FILTERS.map((name) => [name, view.query.get(name) ?? ""]));
  const fields = fieldsOf(order("messages.list"), { named: FILTERS });
  const form = formFields(fields.map((field) => ({ ...field, default: null, help: "" })), { values });
  const times = TIMES.map((name) => timeField(name, view.query.get(name) ?? ""));
  const words = el("input", { type: "checkbox", id: "with-words", checked: hasWords(view) });
  function submit(event) {
    event.preventDefault();
    const said = Object.entries(form.read()).filter(([, value]) => value !== "");
    for (const { name, value } of times.map((node) => node.querySelector("input"))) if (value) said.push([name, value]);
    if (words.checked) said.push(["words", "on"]);
    view.go(`${view.path}?${new URLSearchParams(said)}`);
  }
  return el(
    "form",
    { class: "filters", role: "search", on: { submit } },
    form.nodes,
    times,
    el("div", { class: "field check" }, words, el("label", { for: words.id }, t("messages.words"))),
    el("button", { type: "submit", class: "button" }, t("filter")),
  );
}

function timeField(name, value) {
  const id = `time-${name}`;
  return el(
    "div",
    { class: "field" },
    el("label", { for: id }, t(`messages.${name}`)),
    el("input", { id, name, type: "datetime-local", value }),
  );
}
