// People: who they are, what they have left, what is known of them, and who waits to be let in.

import { actionButton } from "../action.js";
import { listPage } from "../listpage.js";
import { t } from "../strings.js";
import { table } from "../table.js";

const names = (user) => user.channels.map((one) => one.name ?? `${one.platform}:${one.user_id}`);

const account = ({ id, state, may_train: mayTrain }, again) => {
  const fixed = { user: id };
  return [
    state === "blocked"
      ? actionButton("users.activate", { fixed, done: again })
      : actionButton("users.block", { fixed, danger: true, done: again }),
    actionButton("users.tier", { fixed, done: again }),
    actionButton("users.link", { fixed, done: again }),
    actionButton("consent.set", { fixed: { user: id, may_train: !mayTrain }, done: again, label: mayTrain ? t("consent.withdraw") : t("consent.record") }),
    actionButton("memory.record", { fixed, quick: true, saves: `${id}.json` }),
    actionButton("users.erase", { fixed, danger: true, done: again }),
  ];
};

const credits = (report, id, again) => [
  actionButton("credits.grant", { fixed: { user: id }, fields: ["amount", "reason"], done: again }),
  actionButton("credits.refund", { fields: ["message", "reason"], done: again }),
];

const memory = (report, id, again) => [
  actionButton("memory.set", { fixed: { user: id }, done: again }),
  actionButton("memory.forget", { fixed: { user: id }, fields: ["key", "is_everything"], danger: true, done: again }),
  actionButton("memory.dream", { fixed: { user: id }, done: again }),
];

const CHANNELS = [["platform"], ["user_id", "code"], ["name"], ["added_at", "when"], ["activated_how"]];

export const show = listPage(
  {
    order: "users.list",
    rows: "users",
    filters: ["state"],
    most: 10000,
    id: ({ id }) => id,
    columns: [["id", "code"], ["state", "state"], ["channels", "list", names], ["tier"], ["may_train", "yes"], ["created_at", "when"]],
    top: (again) => [actionButton("users.add", { fields: ["user", "name"], done: again })],
    parts: [
      {
        order: "users.show",
        fields: (id) => ({ user: id }),
        pick: (report) => report.user,
        actions: (user, id, again) => account(user, again),
      },
      {
        title: t("people.channels"),
        order: "users.show",
        fields: (id) => ({ user: id }),
        pick: (report) => report.user.channels,
        show: (channels) => table(t("people.channels"), CHANNELS, channels, {
          actions: (one) => actionButton("users.unlink", { fixed: { user: `${one.platform}:${one.user_id}` }, danger: true }),
        }),
      },
      { title: t("people.credits"), order: "credits.show", fields: (id) => ({ user: id }), actions: credits },
      { title: t("people.memory"), order: "memory.show", fields: (id) => ({ user: id }), actions: memory, lazy: true },
    ],
  },
  {
    title: t("people.waiting"),
    order: "pairing.list",
    rows: "waiting",
    empty: t("people.waiting.none"),
    columns: [["platform"], ["user_id", "code"], ["name"], ["asked_at", "when"], ["expires_at", "when"]],
    top: (again) => [actionButton("pairing.approve", { done: again })],
    actions: ({ platform, user_id: userId }, again) => [
      actionButton("pairing.deny", { fixed: { user: `${platform}:${userId}` }, danger: true, done: again }),
    ],
  },
  {
    title: t("people.wallets"),
    order: "credits.list",
    rows: "wallets",
    most: 1000,
    filters: ["below"],
    columns: [["person_id", "code"], ["users", "list"], ["balance", "count"], ["held", "count"], ["is_limited", "yes"], ["referred", "count"]],
  },
);
