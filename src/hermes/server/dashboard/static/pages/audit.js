// The orders that were given: by whom, when, about what, and how they ended.

import { listPage } from "../listpage.js";
import { t } from "../strings.js";

export const show = listPage({
  order: "audit.list",
  rows: "orders",
  filters: ["actor", "action"],
  most: 10000,
  empty: t("audit.none"),
  columns: [["at", "when"], ["actor", "code"], ["role"], ["action", "code"], ["targets", "list"], ["state", "state"], ["code"]],
});
