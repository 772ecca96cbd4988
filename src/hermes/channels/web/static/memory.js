// What other conversations contribute to this one, and the switch that makes it temporary.

import { find } from "./page.js";
import { element } from "./element.js";

const NAMES = {
  known: ["fact about you", "facts about you"],
  earlier: ["message of another conversation", "messages of other conversations"],
  noticed: ["thing noticed about you", "things noticed about you"],
};
const TEMPORARY =
  "Nothing from other conversations and nothing that Hermes knows about you enters this one, and nothing is learnt from it. It stays in your list.";

// Called with true and false when the person uses the switch.
export function setUpMemory(onSwitch) {
  find("temporary").addEventListener("change", () => {
    onSwitch(find("temporary").checked);
    showSwitch();
  });
}

export function resetMemory() {
  find("temporary").checked = false;
  showMemory({ temporary: false, contributions: [] });
  showSwitch();
}

let earlierMessages = 0;
// The demonstration model reads no other conversations.
let seesEarlier = true;
let page = { temporary: false, contributions: [] };
let shown = "";

export function showSwitch(info = null) {
  earlierMessages = info?.earlier_messages ?? earlierMessages;
  seesEarlier = info ? !info.demo : seesEarlier;
  if (info) showMemory(page);
  find("temporary-note").textContent = find("temporary").checked ? TEMPORARY : beginsWith();
}

function beginsWith() {
  if (!earlierMessages || !seesEarlier) return "Hermes begins with what it knows about you.";
  const many = earlierMessages === 1 ? "message" : `${earlierMessages} messages`;
  return `Hermes begins with your newest ${many} of other conversations and with what it knows about you.`;
}

// `reported` is a conversation as the server reports it.
export function showMemory(reported) {
  page = reported;
  const contributions = page.contributions.filter(({ kind }) => seesEarlier || kind !== "earlier");
  find("temporary-chip").hidden = !page.temporary;
  // What is drawn anew loses the focus.
  if (shown === JSON.stringify(contributions)) return;
  shown = JSON.stringify(contributions);
  const holder = find("memory");
  holder.hidden = !contributions.length;
  holder.replaceChildren();
  if (holder.hidden) return;
  holder.append(element("summary", "", `Hermes began with ${sumOf(contributions)}`));
  for (const { lines } of contributions) {
    const list = element("ul");
    list.append(...lines.map((line) => element("li", "", line)));
    holder.append(list);
  }
}

function sumOf(contributions) {
  const counts = new Map();
  for (const { kind, lines } of contributions) {
    counts.set(kind, (counts.get(kind) ?? 0) + lines.length);
  }
  const parts = [...counts].map(([kind, count]) => `${count} ${NAMES[kind][count === 1 ? 0 : 1]}`);
  return parts.join(" and ");
}
