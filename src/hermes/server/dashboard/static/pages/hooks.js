// Hooks and how their calls went.

import { listPage } from "../listpage.js";
import { t } from "../strings.js";

export const show = listPage({
  order: "hooks.list",
  rows: "hooks",
  empty: t("hooks.none"),
  columns: [["name", "code"], ["state", "state"], ["events", "list"], ["place", "code"], ["runs", "count"], ["failures", "count"], ["dropped", "count"], ["last_error"]],
});
