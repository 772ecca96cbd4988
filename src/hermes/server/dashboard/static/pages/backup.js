// When the last backup was made, and how one is made: on the machine, onto another disk.

import { el } from "../dom.js";
import { give } from "../gateway.js";
import { t } from "../strings.js";
import { loading, table } from "../table.js";

const COLUMNS = [["name"], ["status", "state"], ["what"], ["fix"]];

export function show(view) {
  const body = el("div", { class: "list" });
  const again = loading(body, async () => {
    const { checks } = await give("doctor.run", {}, view);
    const found = checks.filter(({ name }) => name === "backup" || name === "disk");
    return table(view.title, COLUMNS, found);
  }, view);
  view.main.append(
    body,
    el("p", {}, t("backup.about")),
    el("pre", {}, "hermes backup /path/on/another/disk/hermes.tar"),
    el("p", { class: "quiet" }, t("backup.key")),
  );
  view.onRefresh(again);
  return again();
}
