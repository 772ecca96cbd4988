// What the gateway did lately, what it does now, and what needs an operator, with the button for it.

import { actionButton } from "../action.js";
import { lineChart } from "../chart.js";
import { el } from "../dom.js";
import { count, duration, money } from "../format.js";
import { allows, catalogue, give } from "../gateway.js";
import { t } from "../strings.js";
import { loading, table } from "../table.js";

const SPANS = ["hour", "day", "month"];
const EVERY_MS = 15000;
// The page and the order that deal with each thing that needs attention.
const REMEDIES = {
  dead_letters: ["deadletters"],
  unknown_deliveries: ["deadletters"],
  paused_channel: ["channels", "channels.resume", ({ subject }) => ({ platform: subject })],
  channel: ["channels", "channels.resume", ({ subject }) => ({ platform: subject })],
  resting_channel: ["channels"],
  budget: ["costs"],
  failed_jobs: ["schedules"],
  parked_work: ["people"],
  approvals: ["approvals"],
  kill_switch: ["models", "kill_switch.set", () => ({ is_on: false })],
  store: ["overview"],
  hook_off: ["hooks"],
};
const CHANNELS = [["name", "code"], ["state", "state"], ["last_in", "when"], ["last_out", "when"], ["note"]];
const MODELS = [["name", "code"], ["model", "code"], ["available", "yes"], ["note"]];

export function show(view) {
  const span = SPANS.includes(view.query.get("span")) ? view.query.get("span") : "day";
  const body = el("div", {});
  const again = loading(body, async () => contents(await give("gateway.overview", { span }, view), again), view);
  view.main.append(chooser(span), body);
  view.onRefresh(again);
  const timer = setInterval(() => document.visibilityState === "visible" && !isBusy(body) && again(), EVERY_MS);
  view.signal.addEventListener("abort", () => clearInterval(timer));
  return again();
}

// A redraw must not take the focus or an opened table away from somebody.
const isBusy = (body) => body.contains(document.activeElement) || body.querySelector("details[open]") !== null;

const chooser = (span) =>
  el("nav", { class: "spans", "aria-label": t("overview.span") }, SPANS.map((one) =>
    el("a", { class: "button", href: `/dashboard?span=${one}`, "aria-current": one === span ? "true" : null }, t(`overview.${one}`)),
  ));

function contents({ attention, whole, points, status }, again) {
  return [
    el("h2", {}, t("overview.attention")),
    attention.length
      ? el("ul", { class: "attention" }, attention.map((one) => attentionRow(one, again)))
      : el("p", { class: "empty" }, t("overview.calm")),
    tiles(whole, status),
    charts(points),
    status?.channels.length ? el("section", { class: "list" }, el("h2", {}, t("overview.channels")), table(t("overview.channels"), CHANNELS, status.channels)) : null,
    status?.providers.length ? el("section", { class: "list" }, el("h2", {}, t("overview.models")), table(t("overview.models"), MODELS, status.providers)) : null,
  ].filter(Boolean);
}

function attentionRow(one, again) {
  const [name, order, fields] = REMEDIES[one.kind];
  const page = catalogue().pages.find((known) => known.name === name);
  return el(
    "li",
    {},
    el("span", {}, t(`attention.${one.kind}`, { n: one.count, subject: one.subject, note: one.note })),
    order ? actionButton(order, { fixed: fields(one), done: again }) : null,
    allows(page.least) ? el("a", { class: "button", href: `/dashboard/${name}` }, t("overview.open")) : null,
  );
}

function tiles(whole, status) {
  const shown = [
    [t("overview.messages.one"), count(whole.messages)],
    [t("overview.errors"), count(whole.errors)],
    [t("overview.p50"), duration(whole.p50_s)],
    [t("overview.p95"), duration(whole.p95_s)],
    [t("overview.cost"), money(whole.cost_usd)],
  ];
  if (status) {
    shown.push(
      [t("overview.running"), count(status.running_turns)],
      [t("overview.waiting"), count(status.waiting_messages)],
      [t("overview.deliveries"), count(status.waiting_deliveries)],
      [t("overview.uptime"), duration(status.uptime_s)],
    );
  }
  return el("dl", { class: "tiles" }, shown.map(([name, value]) =>
    el("div", { class: "tile" }, el("dt", {}, name), el("dd", {}, value)),
  ));
}

function charts(points) {
  const times = points.map(({ at }) => at);
  const series = (name, read) => ({ name, values: points.map(read) });
  return el(
    "div",
    { class: "charts" },
    lineChart(t("overview.messages"), {
      times,
      series: [series(t("overview.messages.one"), (one) => one.messages), series(t("overview.turns"), (one) => one.turns)],
      format: count,
      least: 4,
    }),
    lineChart(t("overview.latency"), {
      times,
      series: [series(t("overview.p50"), (one) => one.p50_s), series(t("overview.p95"), (one) => one.p95_s)],
      format: duration,
    }),
    lineChart(t("overview.cost"), { times, series: [series(t("overview.cost"), (one) => one.cost_usd)], format: money }),
    lineChart(t("overview.problems"), { times, series: [series(t("overview.errors"), (one) => one.errors)], format: count, least: 4 }),
  );
}
