// Models and routing: what can be called, what it costs, and which model would answer.

import { actionButton } from "../action.js";
import { el } from "../dom.js";
import { money } from "../format.js";
import { fieldsOf, formFields } from "../form.js";
import { give, mayGive, order } from "../gateway.js";
import { listPage } from "../listpage.js";
import { t } from "../strings.js";
import { loading, table } from "../table.js";

const price = ({ price: known }) =>
  known ? t("models.price", { read: money(known.read), written: money(known.written), source: known.source }) : t("unknown");

const health = ({ available, is_cooling: isCooling, problem, resting }) => {
  if (problem) return problem;
  if (isCooling) return resting.map(({ reason }) => reason).join(", ");
  return available ? "ready" : "failed";
};

const models = listPage(
  {
    order: "models.list",
    rows: "models",
    columns: [
      ["model", "code", ({ provider, model }) => `${provider}:${model}`],
      ["state", "state", health],
      ["abilities", "list"],
      ["context_tokens", "count"],
      ["price_per_million", "text", price],
      ["local", "yes"],
    ],
    top: (again) => [
      actionButton("models.swap", { done: again }),
      actionButton("models.refresh", { done: again }),
    ],
  },
  { title: t("models.lists"), order: "models.list", rows: "lists", empty: t("models.lists.none"), columns: [["provider"], ["models", "count"], ["at", "when"]] },
);

const ASKED = ["prompt", "agent", "tier", "model", "task", "images", "tools", "tokens"];
const CANDIDATES = [["model", "code", ({ provider, model }) => `${provider}:${model}`], ["rule"], ["price_per_million", "text", price]];
const DROPPED = [["provider"], ["reason"]];

function routing(view) {
  const form = formFields(fieldsOf(order("models.route"), { named: ASKED }), {});
  const answer = el("div", { class: "list", "aria-live": "polite" });
  const ask = loading(answer, async () => {
    const report = await give("models.route", form.read(), view);
    return [
      report.problem ? el("p", { class: "trouble" }, report.problem) : el("p", {}, t("models.task", { task: report.task ?? t("unknown"), complexity: report.complexity ?? "–" })),
      report.candidates.length ? table(t("models.candidates"), CANDIDATES, report.candidates) : null,
      report.dropped.length ? table(t("models.dropped"), DROPPED, report.dropped) : null,
    ].filter(Boolean);
  }, view);
  function submit(event) {
    event.preventDefault();
    ask();
  }
  return el(
    "section",
    {},
    el("h2", {}, t("models.which")),
    el("form", { class: "wide-form", on: { submit } }, form.nodes, el("button", { type: "submit", class: "button main-button" }, t("models.ask"))),
    answer,
  );
}

function killSwitch(view) {
  const body = el("div", {});
  const again = loading(body, async () => {
    const { is_on: isOn, reason, by } = await give("kill_switch.show", {}, view);
    return [
      el("p", {}, isOn ? t("models.stopped", { by: by || t("unknown"), reason: reason || t("none") }) : t("models.running")),
      isOn
        ? actionButton("kill_switch.set", { fixed: { is_on: false }, label: t("models.release"), done: again })
        : actionButton("kill_switch.set", { fixed: { is_on: true }, fields: ["reason"], label: t("models.stop"), danger: true, done: again }),
    ].filter(Boolean);
  }, view);
  again();
  view.onRefresh(again);
  return el("section", {}, el("h2", {}, t("models.switch")), body);
}

export async function show(view) {
  await models(view);
  if (mayGive("models.route")) view.main.append(routing(view));
  view.main.append(killSwitch(view));
}
