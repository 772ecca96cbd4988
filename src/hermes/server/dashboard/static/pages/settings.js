// Settings as they hold now: where each comes from, and whether a change needs a restart.

import { actionButton } from "../action.js";
import { listPage } from "../listpage.js";
import { t } from "../strings.js";

const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value));

const buttons = ({ key, value, editable }, again) =>
  editable
    ? [
        actionButton("settings.set", { fixed: { key }, fields: ["value"], values: { value: asText(value) }, done: again }),
        actionButton("settings.set", { fixed: { key }, fields: [], label: t("settings.default"), done: again }),
      ]
    : [];

export const show = listPage({
  order: "settings.list",
  rows: "settings",
  filters: ["part", "changed"],
  empty: t("settings.none"),
  columns: [["key", "code"], ["value"], ["origin"], ["applies", "text", ({ reloadable }) => t(reloadable ? "settings.reload" : "settings.restart")]],
  top: (again) => [
    actionButton("gateway.reload", { shows: true, done: again }),
    actionButton("gateway.restart", { danger: true, done: again }),
  ],
  actions: buttons,
});
