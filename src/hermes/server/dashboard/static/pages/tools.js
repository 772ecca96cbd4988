// Tools: the MCP servers with their tools, and the skills.

import { actionButton } from "../action.js";
import { listPage } from "../listpage.js";
import { t } from "../strings.js";

export const show = listPage(
  {
    title: t("tools.servers"),
    order: "mcp.status",
    rows: "servers",
    empty: t("tools.none"),
    id: ({ name }) => name,
    columns: [["name", "code"], ["state", "state"], ["transport"], ["tools", "count", ({ tools }) => tools.length], ["calls", "count"], ["calls_failed", "count"], ["problem"]],
    top: (again) => [actionButton("mcp.reload", { done: again })],
    parts: [
      {
        order: "mcp.status",
        fields: () => ({}),
        pick: ({ servers }, id) => servers.find(({ name }) => name === id),
        actions: ({ name }, id, again) => [actionButton("mcp.logout", { fixed: { server: name }, danger: true, done: again })],
      },
    ],
  },
  {
    title: t("tools.skills"),
    order: "skills.list",
    rows: "skills",
    empty: t("tools.skills.none"),
    columns: [["name", "code"], ["description"], ["used_by", "list"], ["problem"]],
    actions: ({ name }, again) => [
      actionButton("skills.show", { fixed: { name }, quick: true, shows: true }),
      actionButton("skills.remove", { fixed: { name }, danger: true, done: again }),
    ],
  },
);
