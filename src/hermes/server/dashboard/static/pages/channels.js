// Channels: connections, traffic, what waits, and the orders that pause and resume a platform.

import { actionButton } from "../action.js";
import { listPage } from "../listpage.js";
import { t } from "../strings.js";

const buttons = ({ platform, paused_at: pausedAt, state }, again) => {
  const fixed = { platform };
  const isDown = pausedAt || state === "fatal" || state === "disconnected";
  return [
    isDown
      ? actionButton("channels.resume", { fixed, done: again })
      : actionButton("channels.pause", { fixed, danger: true, done: again }),
  ];
};

const state = ({ state: word, paused_at: pausedAt, rests_until: restsUntil }) =>
  pausedAt ? "paused" : restsUntil ? "resting" : word;

export const show = listPage(
  {
    order: "channels.list",
    rows: "channels",
    empty: t("channels.none"),
    id: ({ platform }) => platform,
    columns: [["platform", "code"], ["state", "state", state], ["waiting", "count"], ["last_in", "when"], ["last_out", "when"], ["note"]],
    actions: buttons,
    parts: [
      {
        order: "channels.list",
        fields: () => ({}),
        pick: ({ channels }, id) => channels.find(({ platform }) => platform === id),
        actions: (channel, id, again) => [
          ...buttons(channel, again),
          actionButton("sends.send", { values: { to: channel.home ? id : `${id}:` }, fields: ["to", "text"], label: t("channels.test") }),
        ],
      },
    ],
  },
  {
    title: t("channels.directory"),
    order: "channels.directory",
    rows: "chats",
    empty: t("channels.directory.none"),
    columns: [["platform"], ["chat_id", "code"], ["name"], ["kind"]],
  },
);
