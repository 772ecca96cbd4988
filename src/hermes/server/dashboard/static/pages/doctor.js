// The checks of `hermes doctor`, and what to do about what they find.

import { el } from "../dom.js";
import { give } from "../gateway.js";
import { t } from "../strings.js";
import { loading, table } from "../table.js";

const COLUMNS = [["name"], ["status", "state"], ["what"], ["why"], ["fix"], ["details", "list"]];
const WORST = ["fail", "warn", "ok"];

export function show(view) {
  const body = el("div", { class: "list" });
  const again = loading(body, async () => {
    const { checks } = await give("doctor.run", {}, view);
    const sorted = [...checks].sort((a, b) => WORST.indexOf(a.status) - WORST.indexOf(b.status));
    const failed = checks.filter(({ status }) => status === "fail").length;
    const warned = checks.filter(({ status }) => status === "warn").length;
    return [el("p", { role: "status" }, t("doctor.sum", { failed, warned, all: checks.length })), table(view.title, COLUMNS, sorted)];
  }, view);
  view.main.append(
    el("div", { class: "top-actions" }, el("button", { type: "button", class: "button", on: { click: again } }, t("doctor.again"))),
    body,
  );
  view.onRefresh(again);
  return again();
}
