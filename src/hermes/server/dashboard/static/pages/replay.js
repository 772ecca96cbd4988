// Answers made again from what was frozen: a form, the two answers side by side, and what was replayed.

import { el } from "../dom.js";
import { formFields } from "../form.js";
import { count, duration, money, state, text } from "../format.js";
import { give, order } from "../gateway.js";
import { listPage } from "../listpage.js";
import { t } from "../strings.js";
import { wordsOf } from "../toast.js";

const ASKED = ["message", "model", "system", "live_tools", "max_usd", "label"];
// What a diff says of the two texts before its first lines.
const HEAD = 2;

// How much two answers differ, as the order says it: from 0 to 1.
const percent = (change) => (change === null ? t("none") : t("replay.percent", { n: (change * 100).toFixed(1) }));

const list = listPage({
  order: "replays.list",
  rows: "replays",
  title: t("replay.made"),
  empty: t("replay.none"),
  filters: ["message", "label"],
  fixed: { limit: 50 },
  after: ["before", (row) => row.id],
  columns: [
    ["id", "code"],
    ["started_at", "when"],
    ["message_id", "code"],
    ["model"],
    ["state", "state"],
    ["reason"],
    ["change", "text", (row) => percent(row.change)],
    ["cost_usd", "money"],
    ["label"],
  ],
  id: (row) => row.id,
  parts: [{ order: "replays.show", fields: (id) => ({ id }), show: sides }],
});

export function show(view) {
  const lists = [];
  if (view.id === null) view.main.append(form(view, () => lists.forEach((again) => again())));
  return list({ ...view, onRefresh: (again) => { lists.push(again); view.onRefresh(again); } });
}

function form(view, done) {
  const row = order("replays.run");
  const fields = ASKED.map((name) => row.fields.find((field) => field.name === name));
  const asked = formFields(fields, { values: { message: view.query.get("message") ?? "" } });
  const problem = el("p", { class: "problem", role: "alert" });
  const answer = el("div", { "aria-live": "polite" });
  const button = el("button", { type: "submit", class: "button main-button" }, t("do.replays.run"));
  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    problem.textContent = "";
    answer.replaceChildren(el("p", { class: "quiet" }, t("replay.running")));
    try {
      answer.replaceChildren(sides(await give("replays.run", asked.read(), view)));
      done();
    } catch (error) {
      answer.replaceChildren();
      if (!view.signal.aborted) problem.textContent = wordsOf(error);
    }
    button.disabled = false;
  }
  return el(
    "section",
    {},
    el("p", {}, t("replay.about")),
    el("form", { class: "replay-form", on: { submit } }, asked.nodes, problem, button),
    answer,
  );
}

function sides({ replay, before, after, diff, text: why }) {
  const how = el("p", {}, state(replay.state), " ", t("replay.changed", { change: percent(replay.change) }));
  const because = why ? el("p", { class: "quiet" }, why) : null;
  if (!before) return el("div", {}, how, el("p", { class: "quiet" }, why || t("replay.words_gone")));
  return el(
    "div",
    {},
    how,
    because,
    el("div", { class: "sides" }, side(t("replay.before"), before), side(t("replay.after"), after)),
    diff.length ? el("pre", { class: "diff", tabindex: 0, "aria-label": t("replay.diff") }, diff.slice(HEAD).map(line)) : null,
  );
}

function side(title, answer) {
  const facts = [
    ["model", text(answer.model)],
    ["time", duration(answer.ms / 1000)],
    ["tokens", t("replay.counts", { in: count(answer.tokens_in), out: count(answer.tokens_out) })],
    ["cost", answer.unpriced ? money(null) : money(answer.cost_usd)],
    ["tools", answer.tools.map((one) => `${one.name} ${one.arguments}`).join("\n") || t("none")],
  ];
  const rows = facts.flatMap(([name, value]) => [el("dt", {}, t(`replay.${name}`)), el("dd", {}, value)]);
  return el("section", {}, el("h3", {}, title), el("dl", { class: "detail" }, rows), el("pre", { class: "answer" }, text(answer.text)));
}

function line(words) {
  const kind = { "+": "plus", "-": "minus" }[words[0]] ?? "same";
  return el("span", { class: kind }, `${words}\n`);
}
