// Saves the open conversation as a file: all of its pages, without what was taken out of it.

import { getConversation } from "./api.js";
import { say } from "./strings.js";

async function allMessages(id) {
  const found = [];
  let before = null;
  do {
    const page = await getConversation(id, before ? { before } : {});
    found.unshift(...page.messages);
    before = page.earlier;
  } while (before);
  return found;
}

export async function saveConversation(id, title, kind) {
  const messages = await allMessages(id);
  const [text, type] = kind === "json"
    ? [JSON.stringify({ id, title, messages }, null, 2), "application/json"]
    : [markdownOf(title, messages), "text/markdown"];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = `${title.replaceAll(/[\\/:*?"<>|.]/g, "").trim().slice(0, 60) || "hermes"}.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function markdownOf(title, messages) {
  const parts = [`# ${title}`];
  for (const { text, at, files, turn, taken_out: takenOut } of messages) {
    if (takenOut === "all") continue;
    const when = new Date(at * 1000).toISOString().slice(0, 16).replace("T", " ");
    const names = files.map(({ name }) => `[${name || say("files.file")}]`);
    parts.push(`## ${say("said.by_you")}, ${when}`, [text ?? say("said.erased"), ...names].join("\n\n"));
    if (takenOut === "" && turn.reply) {
      parts.push(`## ${say("reply.by")}${turn.model ? `, ${turn.model}` : ""}`, turn.reply);
    }
  }
  return `${parts.join("\n\n")}\n`;
}
