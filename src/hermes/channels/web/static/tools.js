// What can be done with a message or an answer: copy, edit, ask again, go on.

import { copyText } from "./clipboard.js";
import { element } from "./element.js";
import { iconButton } from "./icons.js";
import { announce } from "./page.js";
import { say } from "./strings.js";

const COMMAND = /^\/[A-Za-z]/;

async function copy(text, button) {
  announce(say(await copyText(text, button)));
}

// `act` has edit and again, which take an exchange.
export function saidTools(exchange, act) {
  const tools = element("div", "tools");
  if (exchange.text) {
    const button = iconButton("copy", say("copy.message"), () => copy(exchange.text, button));
    tools.append(button);
  }
  if (exchange.id && !COMMAND.test(exchange.text)) {
    tools.append(changing("edit", "edit.message", () => act.edit(exchange)));
  }
  return tools;
}

export function replyTools(exchange, turn, text, act) {
  const tools = element("div", "tools");
  if (text) {
    const button = iconButton("copy", say("copy.reply"), () => copy(text, button));
    tools.append(button);
  }
  if (exchange.said && !COMMAND.test(exchange.text) && turn.outcome !== "merged") {
    tools.append(changing("again", "again.reply", () => act.again(exchange)));
    const other = changing("more", "models.other", () => act.withModel(exchange, other));
    other.setAttribute("aria-haspopup", "menu");
    tools.append(other);
  }
  if (turn.stop_reason === "length" || (turn.outcome === "interrupted" && text)) {
    tools.append(changing("continue", "continue.reply", () => act.goOn()));
  }
  return tools;
}

// Only for what is part of the conversation.
function changing(name, label, action) {
  const button = iconButton(name, say(label), action);
  button.classList.add("change");
  return button;
}
