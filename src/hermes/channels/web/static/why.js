// The story of one message: what `hermes why` says, for the owner.

import { getStory } from "./api.js";
import { find } from "./page.js";
import { element } from "./element.js";

async function show() {
  const id = decodeURIComponent(location.pathname.replace(/^\/why\//, ""));
  try {
    const { conversation, story } = await getStory(id);
    find("back").href = `/#/${encodeURIComponent(conversation)}`;
    find("answer").textContent = story.answer;
    for (const [name, value] of factsOf(story)) {
      find("facts").append(element("dt", "", name), element("dd", "", value));
    }
    find("told").append(...routeOf(story), ...recalledOf(story), ...timelineOf(story));
  } catch (problem) {
    find("answer").textContent = problem instanceof TypeError ? "Cannot reach the server." : problem.message;
  }
}

function factsOf(story) {
  const facts = [
    ["id", story.id],
    ["state", story.outcome ?? story.state],
    ["waits for", story.waiting_for],
    ["model", story.model],
    ["reason", story.reason],
    ["stopped", story.stop_reason],
    ["attempts", story.attempts > 1 ? String(story.attempts) : ""],
    ["hermes why", `hermes why ${story.id}`],
  ];
  return facts.filter(([, value]) => value);
}

function routeOf({ route }) {
  if (!route) return [];
  const tried = (route.candidates ?? []).map(({ model, rule }) => [model, rule]);
  const dropped = (route.dropped ?? []).map(({ provider, reason }) => [provider, `left out: ${reason}`]);
  return tableOf("Models", ["model", "why"], [...tried, ...dropped]);
}

function recalledOf({ text }) {
  return tableOf("Recalled about you", ["fact"], (text?.recalled ?? []).map((line) => [line]));
}

function timelineOf({ lines }) {
  const rows = lines.map(({ after_s: after, what, data }) => [
    `${after.toFixed(3)} s`,
    what,
    what === "routed" ? "" : Object.entries(data ?? {}).map(pairText).join(" "),
  ]);
  return tableOf("Timeline", ["after", "what", "details"], rows);
}

function pairText([name, value]) {
  return `${name}=${typeof value === "object" ? JSON.stringify(value) : value}`;
}

function tableOf(title, heads, rows) {
  if (!rows.length) return [];
  const holder = element("div", "table");
  holder.tabIndex = 0;
  holder.setAttribute("role", "region");
  holder.setAttribute("aria-label", title);
  const table = element("table");
  table.append(rowOf("th", heads), ...rows.map((cells) => rowOf("td", cells)));
  holder.append(table);
  return [element("h2", "", title), holder];
}

function rowOf(tag, cells) {
  const row = element("tr");
  row.append(...cells.map((cell) => element(tag, "", cell)));
  return row;
}

show();
