// Stored secrets by name; a value can be set and never read.

import { actionButton } from "../action.js";
import { listPage } from "../listpage.js";
import { t } from "../strings.js";

export const show = listPage({
  order: "secrets.list",
  rows: "secrets",
  empty: t("secrets.none"),
  columns: [["key", "code"], ["set_at", "when"], ["set_by"], ["used_by", "list"]],
  top: (again) => [actionButton("secrets.set", { secret: ["value"], done: again })],
  actions: ({ key }, again) => [
    actionButton("secrets.set", { fixed: { key }, secret: ["value"], label: t("secrets.replace"), done: again }),
    actionButton("secrets.delete", { fixed: { key }, danger: true, done: again }),
  ],
});
