// Tokens of programs, and the browsers that are signed in.

import { actionButton } from "../action.js";
import { listPage } from "../listpage.js";
import { t } from "../strings.js";

const revoke = ({ id }, again) => [actionButton("tokens.revoke", { fixed: { id }, danger: true, done: again })];

export const show = listPage(
  {
    title: t("tokens.tokens"),
    order: "tokens.list",
    rows: "tokens",
    columns: [["id", "code"], ["name"], ["role"], ["state", "state"], ["created_at", "when"], ["expires_at", "when"], ["made_by", "code"]],
    top: (again) => [
      actionButton("tokens.create", { fields: ["role", "name", "lifetime_s", "may_delegate"], shows: true, done: again }),
      actionButton("access.link", { fields: ["revoke_others"], shows: true, done: again }),
    ],
    actions: revoke,
  },
  {
    title: t("tokens.browsers"),
    order: "tokens.list",
    rows: "sessions",
    columns: [["id", "code"], ["browser"], ["role"], ["state", "state"], ["seen_at", "when"], ["created_at", "when"], ["expires_at", "when"]],
    actions: revoke,
  },
);
