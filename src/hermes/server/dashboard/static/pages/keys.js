// Keys of callers of /v1: what each may call and has used.

import { actionButton } from "../action.js";
import { listPage } from "../listpage.js";
import { t } from "../strings.js";

const NEW = ["user", "label", "models", "budget_usd", "budget_period", "budget_tokens", "requests_per_minute", "lifetime_s", "read_history"];

export const show = listPage({
  order: "keys.list",
  rows: "keys",
  empty: t("keys.none"),
  columns: [["id", "code"], ["label"], ["user"], ["state", "state"], ["used_usd", "money"], ["budget_usd", "text"], ["used_tokens", "count"], ["models", "list"], ["expires_at", "when"]],
  top: (again) => [actionButton("keys.create", { fields: NEW, shows: true, done: again })],
  actions: ({ id, state }, again) => [
    state === "active" ? actionButton("keys.revoke", { fixed: { id }, danger: true, done: again }) : null,
  ],
});
