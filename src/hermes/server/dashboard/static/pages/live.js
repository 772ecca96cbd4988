// Turns that run now: what each does and took so far, a stop, and what it writes while it writes it.

import { actionButton } from "../action.js";
import { el } from "../dom.js";
import { events } from "../events.js";
import { give } from "../gateway.js";
import { t } from "../strings.js";
import { empty, loading, table } from "../table.js";
import { wordsOf } from "../toast.js";

const EVERY_MS = 2000;
const MOST = 200;
const COLUMNS = [
  ["id", "code"],
  ["state", "state"],
  ["doing"],
  ["name", "code"],
  ["since", "when"],
  ["platform"],
  ["person_id", "code"],
  ["tokens", "count", ({ tokens_in: tokensIn, tokens_out: tokensOut }) => tokensIn + tokensOut],
  ["cost_usd", "money"],
  ["started_at", "when"],
];

export function show(view) {
  if (view.id !== null) return watch(view);
  const body = el("div", { class: "list" });
  const again = loading(body, () => rows(view, again), view);
  view.main.append(body);
  view.onRefresh(again);
  const timer = setInterval(() => {
    if (document.visibilityState === "visible" && !body.contains(document.activeElement)) again();
  }, EVERY_MS);
  view.signal.addEventListener("abort", () => clearInterval(timer));
  return again();
}

async function rows(view, again) {
  const { turns } = await give("turns.list", { limit: MOST }, view);
  if (!turns.length) return empty(t("live.none"));
  return table(view.title, COLUMNS, turns, {
    link: ({ id }) => `${view.path}/${encodeURIComponent(id)}`,
    actions: ({ id }) => actionButton("turns.stop", { fixed: { id }, danger: true, done: again }),
  });
}

// The words stay on the page after the end.
async function watch(view) {
  const text = el("div", { class: "watched", tabindex: 0, role: "log", "aria-label": t("live.watched") });
  const note = el("p", { class: "quiet", role: "status" }, t("live.waiting"));
  const stop = actionButton("turns.stop", { fixed: { id: view.id }, danger: true });
  view.main.append(
    el("p", {}, el("a", { href: view.path }, t("back", { page: view.title }))),
    el("h2", { class: "subject" }, view.id),
    el("div", { class: "top-actions" }, stop),
    text,
    note,
  );
  const handlers = {
    delta: (data) => text.append(data.text),
    snapshot: (data) => text.replaceChildren(data.text),
    tool: (data) => note.replaceChildren(t("live.tool", data)),
    status: (data) => note.replaceChildren(data.text),
    error: (data) => note.replaceChildren(data.message),
    parked: () => note.replaceChildren(t("live.parked")),
    done: (data) => {
      if (data.reply) text.replaceChildren(data.reply);
      note.replaceChildren(t("live.ended", { outcome: data.outcome }));
      stop?.remove();
    },
  };
  try {
    const address = `/dashboard/turns/${encodeURIComponent(view.id)}/events`;
    for await (const { event, data } of events(address, view)) handlers[event]?.(data);
  } catch (error) {
    if (!view.signal.aborted) note.replaceChildren(wordsOf(error));
  }
}
