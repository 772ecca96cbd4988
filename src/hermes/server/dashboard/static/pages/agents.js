// Agents: what answers whom, in which version, and the orders that change it.

import { actionButton } from "../action.js";
import { detail } from "../detail.js";
import { listPage } from "../listpage.js";
import { mayGive } from "../gateway.js";
import { t } from "../strings.js";
import { table } from "../table.js";

const EDITED = ["role", "description", "tone", "model", "tier", "tools", "skills", "delegates", "system_prompt", "budget_day_usd", "shared", "note"];
const NEW = ["name", "role", "description", "model", "tools", "skills", "system_prompt", "note"];
const HISTORY = [["version", "count"], ["author"], ["at", "when"], ["note"], ["changed", "list"]];

const orders = (agent, id, again) => {
  if (agent.source === "file") return [];
  const fixed = { id };
  return [
    agent.status === "stopped" || agent.status === "deleting"
      ? actionButton("agents.start", { fixed, done: again })
      : actionButton("agents.stop", { fixed, done: again }),
    actionButton("agents.swap", { fixed, fields: ["runtime", "preserve_cwd", "note"], values: agent, done: again }),
    actionButton("agents.delete", { fixed, fields: ["grace_s"], danger: true, done: again }),
  ];
};

const settings = (report, id, again) => [
  actionButton("agents.change", { fixed: { id }, fields: EDITED, values: { ...report, ...report.settings }, onlyChanged: true, done: again }),
];

export const show = listPage({
  order: "agents.list",
  rows: "workspaces",
  filters: ["state"],
  after: ["after", ({ name }) => name],
  empty: t("agents.none"),
  id: ({ id }) => id,
  columns: [["name", "code"], ["status", "state"], ["model", "code"], ["runtime"], ["source"], ["version", "count"], ["rules", "list"], ["changed_at", "when"]],
  top: (again) => [
    actionButton("agents.create", { fields: NEW, done: again }),
    actionButton("agents.add_remote", { fields: ["url", "name", "secret"], done: again }),
  ],
  parts: [
    { order: "agents.show", fields: (id) => ({ id }), actions: orders },
    { title: t("agents.settings"), order: "agents.read", fields: (id) => ({ id }), actions: settings, lazy: true },
    {
      title: t("agents.versions"),
      order: "agents.versions",
      fields: (id) => ({ id }),
      lazy: true,
      show: ({ id, versions }) =>
        mayGive("agents.revert")
          ? table(t("agents.versions"), HISTORY, versions, {
              actions: ({ version }) => actionButton("agents.revert", { fixed: { id, version }, fields: ["note"] }),
            })
          : detail(versions),
    },
  ],
});
