// Replies that are not sent: given up, or maybe arrived; send them again or drop them, also many at once.

import { actionButton } from "../action.js";
import { listPage } from "../listpage.js";
import { t } from "../strings.js";

const buttons = ({ id }, again) => [
  actionButton("deadletters.replay", { fixed: { id }, done: again }),
  actionButton("deadletters.drop", { fixed: { id }, danger: true, done: again }),
];

export const show = listPage({
  order: "deadletters.list",
  rows: "letters",
  filters: ["platform"],
  most: 10000,
  empty: t("deadletters.none"),
  id: ({ id }) => id,
  columns: [["id", "code"], ["state", "state"], ["platform"], ["chat_id", "code"], ["failure"], ["reason"], ["attempts", "count"], ["created_at", "when"]],
  actions: buttons,
  bulk: [
    ["deadletters.replay", ({ id }) => ({ id })],
    ["deadletters.drop", ({ id }) => ({ id })],
  ],
  parts: [
    {
      order: "deadletters.show",
      fields: (id) => ({ id }),
      pick: ({ letter }) => letter,
      actions: (letter, id, again) => buttons(letter, again),
    },
  ],
});
