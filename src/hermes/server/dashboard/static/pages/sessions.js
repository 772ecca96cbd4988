// Sessions, and one of them: its transcript, and its conversation as a graph.

import { actionButton } from "../action.js";
import { detail } from "../detail.js";
import { el } from "../dom.js";
import { drawGraph } from "../drawing.js";
import { exactly, money } from "../format.js";
import { give } from "../gateway.js";
import { listPage } from "../listpage.js";
import { t } from "../strings.js";
import { empty, loading } from "../table.js";

const EXPORTED_AT_ONCE = 200;
const MOST_PAGES = 500;

const list = listPage({
  order: "sessions.list",
  rows: "sessions",
  empty: t("sessions.none"),
  filters: ["platform"],
  most: 10000,
  id: (row) => row.key,
  parts: [],
  columns: [
    ["used_at", "when"],
    ["id", "code"],
    ["platform"],
    ["person_id", "code"],
    ["messages", "count"],
    ["is_busy", "yes"],
  ],
  actions: (row, done) => [actionButton("sessions.end", { fixed: { session: row.key }, danger: true, done })],
});

export function show(view) {
  if (view.id === null) return list(view);
  const back = el("p", {}, el("a", { href: view.path }, t("back", { page: view.title })));
  view.main.append(back, el("h2", { class: "subject" }, view.id));
  const buttons = [
    actionButton("sessions.undo", { fixed: { session: view.id }, fields: ["count"] }),
    actionButton("sessions.end", { fixed: { session: view.id }, danger: true }),
    el("button", { type: "button", class: "button", on: { click: () => save(view) } }, t("sessions.export")),
  ].filter(Boolean);
  view.main.append(el("div", { class: "top-actions" }, buttons));
  view.main.append(
    part(view, t("sessions.transcript"), () => transcript(view), view.query.get("graph") !== "open"),
    part(view, t("sessions.graph"), () => graph(view), view.query.get("graph") === "open"),
  );
  return undefined;
}

// What was said is on record each time it is shown: a part is asked for only if it is open.
function part(view, title, load, isOpen) {
  const body = el("div", {});
  const again = loading(body, load, view);
  const node = el("details", { class: "part", on: { toggle: () => node.open && !body.childElementCount && again() } }, el("summary", {}, title), body);
  node.open = isOpen;
  return node;
}

async function transcript(view) {
  const holder = el("ol", { class: "transcript" });
  let page = await give("sessions.transcript", { session: view.id }, view);
  if (!page.messages?.length) return empty(t("sessions.nothing_said"));
  const earlier = el("button", { type: "button", class: "button", on: { click: add } }, t("sessions.earlier"));
  function put() {
    holder.prepend(...page.messages.map(exchange));
    if (!page.earlier) earlier.remove();
  }
  async function add() {
    earlier.disabled = true;
    page = await give("sessions.transcript", { session: view.id, before: page.earlier }, view);
    put();
    earlier.disabled = false;
  }
  put();
  return [page.earlier ? earlier : null, holder].filter(Boolean);
}

function exchange(one) {
  const facts = [exactly(one.at), one.outcome ?? one.state, one.model, one.model ? money(one.cost_usd) : ""].filter(Boolean);
  return el(
    "li",
    { class: one.taken_out ? "exchange taken-out" : "exchange" },
    el("p", { class: "quiet" }, el("a", { href: `/dashboard/message/${encodeURIComponent(one.id)}` }, facts.join(" · "))),
    one.taken_out ? el("p", { class: "quiet" }, t(`sessions.taken_out.${one.taken_out}`)) : null,
    el("pre", { class: "from-person" }, one.text ?? t("message.not_kept")),
    one.reply ? el("pre", { class: "from-agent" }, one.reply) : null,
  );
}

async function graph(view) {
  const report = await give("sessions.graph", { session: view.id, limit: 200 }, view);
  const { branches, ...facts } = report.drawing;
  const numbers = { branches: branches.map(({ branch, messages }) => `${branch} (${messages})`), ...facts };
  return [drawGraph(t("sessions.graph"), report.drawing), detail(numbers)];
}

// Saves the whole transcript as a file of this browser.
async function save(view) {
  const messages = [];
  let before = "";
  let page;
  for (let number = 0; number < MOST_PAGES; number += 1) {
    page = await give("sessions.transcript", { session: view.id, before, limit: EXPORTED_AT_ONCE }, view);
    messages.unshift(...(page.messages ?? []));
    before = page.earlier ?? "";
    if (!before) break;
  }
  const file = new Blob([JSON.stringify({ ...page, messages, earlier: before || undefined }, null, 2)], { type: "application/json" });
  const link = el("a", { href: URL.createObjectURL(file), download: `${page.session}.json` });
  link.click();
  URL.revokeObjectURL(link.href);
}
