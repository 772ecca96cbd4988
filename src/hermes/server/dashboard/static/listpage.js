// A page that is data: lists of rows that orders report, with filters, a detail view and buttons.

import { bulkButton } from "./action.js";
import { detail } from "./detail.js";
import { el } from "./dom.js";
import { fieldsOf, formFields } from "./form.js";
import { give, mayGive, order } from "./gateway.js";
import { t } from "./strings.js";
import { empty, loading, table } from "./table.js";

const LEAST = 50;

// Returns the `show` of a page. Each list has
//   order, rows     the order and the field of its report that has the rows
//   columns         as `table` takes them
//   title, empty    words over the list, and in place of it if there are no rows
//   filters         fields of the order that the address may have and the page asks for
//   fixed           fields of the order that the page fills
//   most            the largest `limit` that the order takes; the page asks for more step by step
//   after           [field, row => cursor], for orders that continue a list
//   id, parts       the part of the address that names a row, and what its detail view shows:
//                   each part has title, order, fields(id), and may have pick(report, id) for a part of
//                   the report, show(report), actions(report, id, again), and lazy: asked when it is opened
//   actions         (row, done) => buttons beside a row
//   bulk            [order, row => fields] pairs: buttons for all rows that are picked
//   top             (done) => buttons over the list
// A list whose order the role may not give is left out.
export function listPage(...lists) {
  return async (view) => {
    const seen = lists.filter((list) => mayGive(list.order));
    const owner = seen.find((list) => list.parts);
    if (view.id !== null && owner) return showDetail(view, owner);
    for (const list of seen) view.main.append(sectionOf(view, list));
    return undefined;
  };
}

function sectionOf(view, list) {
  const body = el("div", { class: "list" });
  const section = el("section", {});
  const again = loading(body, () => content(view, list, again), view);
  const top = list.top?.(again).filter(Boolean) ?? [];
  if (list.title) section.append(el("h2", {}, list.title));
  if (list.filters) section.append(filterForm(view, list));
  if (top.length) section.append(el("div", { class: "top-actions" }, top));
  section.append(body);
  view.onRefresh(again);
  again();
  return section;
}

const sizes = new WeakMap();

async function content(view, list, again) {
  const fields = { ...list.fixed };
  for (const name of list.filters ?? []) fields[name] = view.query.get(name) ?? "";
  const limit = sizes.get(list) ?? Math.min(LEAST, list.most ?? LEAST);
  if (list.most) fields.limit = limit;
  const report = await give(list.order, fields, view);
  let rows = report[list.rows] ?? [];
  if (!rows.length) return empty(list.empty ?? t("empty"));
  const options = {
    link: list.parts && ((row) => `${view.path}/${encodeURIComponent(list.id(row))}`),
    actions: list.actions && ((row) => list.actions(row, again).filter(Boolean)),
    picked: list.bulk?.some(([name]) => mayGive(name)) ? new Set() : null,
  };
  const caption = list.title ?? view.title;
  const shown = table(caption, list.columns, rows, options);
  const holder = el("div", {}, list.above?.(report) ?? null, bulkButtons(list, options.picked, again), shown);
  if (list.after) holder.append(moreButton(async () => {
    const [field, read] = list.after;
    const next = await give(list.order, { ...fields, [field]: read(rows.at(-1)) }, view);
    rows = next[list.rows] ?? [];
    holder.insertBefore(rows.length ? table(caption, list.columns, rows, options) : el("p", { class: "quiet" }, t("end")), holder.lastChild);
    return rows.length > 0;
  }));
  else if (list.most > limit && rows.length >= limit) holder.append(moreButton(async () => {
    sizes.set(list, Math.min(list.most, limit * 4));
    await again();
    return true;
  }));
  return holder;
}

function bulkButtons(list, picked, again) {
  if (!picked) return null;
  const buttons = list.bulk.map(([name, fields]) => bulkButton(name, { picked, fields, done: again }));
  return el("div", { class: "top-actions" }, buttons.filter(Boolean));
}

function moreButton(load) {
  async function press() {
    button.disabled = true;
    const hasMore = await load().catch(() => true);
    button.disabled = false;
    if (!hasMore) button.remove();
  }
  const button = el("button", { type: "button", class: "button more", on: { click: press } }, t("more"));
  return button;
}

function filterForm(view, list) {
  const values = Object.fromEntries(list.filters.map((name) => [name, view.query.get(name) ?? ""]));
  const asked = fieldsOf(order(list.order), { named: list.filters });
  const form = formFields(asked.map((field) => ({ ...field, default: null, help: "" })), { values });
  function submit(event) {
    event.preventDefault();
    const said = Object.entries(form.read()).filter(([, value]) => value !== "" && value !== false);
    view.go(`${view.path}?${new URLSearchParams(said)}`);
  }
  return el(
    "form",
    { class: "filters", role: "search", on: { submit } },
    form.nodes,
    el("button", { type: "submit", class: "button" }, t("filter")),
  );
}

function showDetail(view, list) {
  view.main.append(el("p", {}, el("a", { href: view.path }, t("back", { page: view.title }))));
  view.main.append(el("h2", { class: "subject" }, view.id));
  for (const part of list.parts.filter((one) => mayGive(one.order))) {
    view.main.append(partOf(view, part));
  }
}

function partOf(view, part) {
  const body = el("div", {});
  const again = loading(body, async () => {
    const whole = await give(part.order, part.fields(view.id), view);
    const report = part.pick ? part.pick(whole, view.id) : whole;
    if (!report) return empty(t("gone"));
    const buttons = part.actions?.(report, view.id, again).filter(Boolean) ?? [];
    return [
      buttons.length ? el("div", { class: "top-actions" }, buttons) : null,
      part.show ? part.show(report, view) : detail(report),
    ].filter(Boolean);
  }, view);
  view.onRefresh(again);
  if (part.lazy) return foldedPart(part, body, again);
  again();
  return el("section", {}, part.title ? el("h3", {}, part.title) : null, body);
}

// What shows what people said is on record each time: it is asked only if somebody opens it.
function foldedPart(part, body, again) {
  const fold = el("details", { class: "part", on: { toggle: () => fold.open && !body.childElementCount && again() } },
    el("summary", {}, part.title), body);
  return fold;
}
