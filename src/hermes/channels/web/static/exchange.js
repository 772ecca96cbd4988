// A message and the replies to it, in one place of the page: an answer stays under its question.

import { element, saidNode } from "./view.js";

// Commands after which the page looks again at what belongs to the conversation.
export const CHANGES_PAST = /^\/(undo|retry|branch)\b/;

export class Exchange {
  constructor(text) {
    this.text = text ?? "";
    this.takenOut = "";
    this.node = element("div", "exchange");
    // What was sent here on its own answers nobody's words.
    if (text) this.node.append(saidNode(text));
  }

  // `takenOut` is "all", "reply" or "": what models no longer see of it is folded.
  fold(takenOut) {
    if (takenOut === this.takenOut) return;
    this.unfold();
    this.takenOut = takenOut;
    if (!takenOut) return;
    const details = element("details", "taken-out");
    details.append(element("summary", "", this.summary()));
    const folded = [...this.node.children].filter(
      (child) => takenOut === "all" || !child.matches(".mine"),
    );
    details.append(...folded);
    this.node.append(details);
  }

  unfold() {
    const details = this.node.querySelector(":scope > details");
    details?.replaceWith(...[...details.children].slice(1));
  }

  summary() {
    if (this.takenOut === "reply") return "An earlier answer: it is no longer part of the conversation";
    const words = this.text.trim().split("\n")[0].slice(0, 60);
    return `No longer part of the conversation: ${words}`;
  }
}
