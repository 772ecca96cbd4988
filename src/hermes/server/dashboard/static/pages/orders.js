// Every operator order: what it does, who may give it, and where programs find it.

import { el } from "../dom.js";
import { catalogue } from "../gateway.js";
import { t } from "../strings.js";
import { table } from "../table.js";

const COLUMNS = [
  ["name", "code"],
  ["least", "state"],
  ["method"],
  ["path", "code"],
  ["summary"],
];

export function show(view) {
  const rows = Object.entries(catalogue().orders).map(([name, row]) => ({ name, ...row }));
  view.main.append(el("p", {}, t("orders.about")), table(view.title, COLUMNS, rows));
}
