// Scheduled jobs of everybody.

import { actionButton } from "../action.js";
import { listPage } from "../listpage.js";
import { t } from "../strings.js";

const buttons = ({ id, state }, again) => [
  state === "paused"
    ? actionButton("cron.resume", { fixed: { id }, done: again })
    : actionButton("cron.pause", { fixed: { id }, done: again }),
  actionButton("cron.run", { fixed: { id }, done: again }),
  actionButton("cron.remove", { fixed: { id }, danger: true, done: again }),
];

export const show = listPage({
  order: "cron.list",
  rows: "jobs",
  filters: ["user"],
  most: 10000,
  empty: t("schedules.none"),
  id: ({ id }) => id,
  columns: [["id", "code"], ["state", "state"], ["text"], ["when"], ["user"], ["next"], ["outcome", "state"], ["reason"], ["runs", "count"]],
  top: (again) => [actionButton("cron.add", { fields: ["user", "when", "text", "to", "agent"], done: again })],
  actions: buttons,
  parts: [
    {
      order: "cron.show",
      fields: (id) => ({ id, output: true }),
      actions: ({ job }, id, again) => buttons(job, again),
    },
  ],
});
