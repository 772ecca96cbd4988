// One message: what happened to it, on an axis of time, and with the right role what was said.

import { detail } from "../detail.js";
import { el } from "../dom.js";
import { exactly, money } from "../format.js";
import { allows, give, mayGive } from "../gateway.js";
import { t } from "../strings.js";
import { loading, table } from "../table.js";
import { lineTable, timeline } from "../timeline.js";

export function show(view) {
  view.main.append(idForm(view));
  if (view.id === null) return undefined;
  const body = el("div", {});
  const again = loading(body, async () => shownReport(view, await give("messages.why", { id: view.id }, view)), view);
  view.main.append(body);
  view.onRefresh(again);
  return again();
}

function idForm(view) {
  const input = el("input", { id: "message-id", name: "id", value: view.id ?? "", autocomplete: "off", spellcheck: "false", required: true });
  function submit(event) {
    event.preventDefault();
    view.go(`${view.path}/${encodeURIComponent(input.value.trim())}`);
  }
  return el(
    "form",
    { class: "filters", role: "search", on: { submit } },
    el("div", { class: "field" }, el("label", { for: input.id }, t("message.id")), input),
    el("button", { type: "submit", class: "button" }, t("message.explain")),
  );
}

function shownReport(view, report) {
  const lines = report.lines ?? [];
  return [
    el("p", { class: "answer" }, report.answer),
    links(report),
    lines.length ? el("section", {}, el("h2", {}, t("message.timeline")), timeline(t("message.timeline"), lines)) : null,
    fold(t("message.lines"), () => lineTable(t("message.lines"), lines)),
    route(report.route),
    el("section", {}, el("h2", {}, t("message.facts")), detail(facts(report))),
    mayGive("messages.read") ? asked(view, t("message.said"), "messages.read", { id: report.id }, said) : null,
    ...calls(view, lines),
  ].filter(Boolean);
}

function links(report) {
  if (!report.lane || !allows("operator")) return null;
  const session = `/dashboard/sessions/${encodeURIComponent(report.lane)}`;
  return el(
    "p",
    { class: "top-actions" },
    el("a", { href: session }, t("message.session")),
    el("a", { href: `${session}?graph=open` }, t("message.graph")),
    report.kind === "message" ? el("a", { href: `/dashboard/replay?message=${encodeURIComponent(report.id)}` }, t("page.replay")) : null,
  );
}

function facts(report) {
  const { lines, route: _route, answer: _answer, text: _text, ...rest } = report;
  return { ...rest, events: lines?.length ?? 0 };
}

function route(told) {
  if (!told) return null;
  const rows = [
    ...(told.candidates ?? []).map(({ model, rule }) => ({ model, verdict: t("route.candidate"), reason: rule })),
    ...(told.dropped ?? []).map(({ provider, reason }) => ({ model: provider, verdict: t("route.dropped"), reason })),
  ];
  const columns = [["model", "code"], ["verdict"], ["reason"]];
  const wanted = told.wanted ? el("p", {}, t("route.wanted", { model: told.wanted })) : null;
  return el("section", {}, el("h2", {}, t("message.route")), wanted, table(t("message.route"), columns, rows));
}

// What shows what people said is on record each time: it is asked only if somebody opens it.
function asked(view, title, name, fields, shown) {
  const body = el("div", {});
  const again = loading(body, async () => shown(await give(name, fields, view)), view);
  return fold(title, () => {
    again();
    return body;
  });
}

function fold(title, make) {
  const node = el("details", { class: "part", on: { toggle: open } }, el("summary", {}, title));
  function open() {
    if (node.open && node.childElementCount === 1) node.append(make());
  }
  return node;
}

function said({ text, lines = [] }) {
  const names = new Map(lines.filter(({ data }) => data?.step !== undefined).map((line) => [line.data.step, line.what]));
  return [
    part(t("message.text"), text?.message),
    text?.recalled?.length ? part(t("message.recalled"), text.recalled.join("\n")) : null,
    ...(text?.steps ?? []).flatMap((step) => stepParts(step, names.get(step.step) ?? "")),
    part(t("message.reply"), text?.reply),
  ].filter(Boolean);
}

function stepParts(step, name) {
  const title = t("message.step", { n: step.step, name });
  return [
    step.thoughts ? part(`${title} · ${t("message.thoughts")}`, step.thoughts) : null,
    step.arguments ? part(`${title} · ${t("message.arguments")}`, step.arguments) : null,
    ...(step.calls ?? []).map((call) => part(`${title} · ${t("message.calls", { tool: call.tool })}`, call.arguments)),
    step.text ? part(title, step.text) : null,
  ];
}

const part = (title, text) =>
  el("section", { class: "said" }, el("h3", {}, title), el("pre", {}, text ?? t("message.not_kept")));

function calls(view, lines) {
  if (!mayGive("messages.prompt")) return [];
  return lines
    .filter(({ call }) => call)
    .map((line) => asked(view, t("message.prompt", { name: line.what, call: line.call }), "messages.prompt", { call: line.call }, prompt));
}

function prompt(report) {
  const cost = report.usage?.cost_usd === undefined ? "" : money(report.usage.cost_usd);
  return [
    el("p", { class: "quiet" }, [report.model, report.graph, exactly(report.at), cost].filter(Boolean).join(" · ")),
    report.left_out ? el("p", { class: "quiet" }, t("prompt.left_out", { n: report.left_out })) : null,
    ...(report.messages ?? []).map((message, index) => spoken(message, (report.left_out ?? 0) + index)),
    report.answer ? spoken(report.answer, t("prompt.answer")) : null,
    report.tools?.length ? fold(t("prompt.tools", { n: report.tools.length }), () => detail(report.tools)) : null,
  ].filter(Boolean);
}

function spoken(message, place) {
  const { role, parts, ...rest } = message;
  const texts = (parts ?? []).map((one) => (one.type === "text" ? one.text : JSON.stringify(one, null, 2)));
  const others = Object.keys(rest).length ? [JSON.stringify(rest, null, 2)] : [];
  return part(`${place} · ${role}`, [...texts, ...others].join("\n"));
}
