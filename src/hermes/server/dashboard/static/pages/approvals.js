// Tool calls and questions that wait for somebody's word.

import { actionButton } from "../action.js";
import { listPage } from "../listpage.js";
import { t } from "../strings.js";

export const show = listPage({
  order: "approvals.list",
  rows: "approvals",
  most: 1000,
  empty: t("approvals.none"),
  columns: [["id", "code"], ["tool", "code"], ["question"], ["user"], ["chat_type"], ["asked_at", "when"], ["expires_at", "when"]],
  actions: ({ id, is_question: isQuestion }, again) => [
    isQuestion ? null : actionButton("approvals.approve", { fixed: { id }, done: again }),
    actionButton("approvals.deny", { fixed: { id }, danger: true, done: again }),
  ],
});
