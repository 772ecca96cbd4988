// A message and the replies to it, in one place of the page: an answer stays under its question.

import { element } from "./element.js";
import { fetchFiles, filesNode } from "./files.js";
import { say } from "./strings.js";

// Commands after which the page looks again at what belongs to the conversation.
export const CHANGES_PAST = /^\/(undo|retry|branch)\b/;

export class Exchange {
  // `files` are File objects of a new message, or what the server says of those of an old one.
  constructor(text, files = []) {
    this.text = text ?? "";
    this.files = files;
    this.id = null;
    this.replaces = "";
    this.epoch = 0;
    this.outcome = null;
    // Its outcome, once a turn that was followed here has ended.
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
    this.takenOut = "";
    this.isOld = false;
    this.node = element("div", "exchange");
    this.node.exchange = this;
    // What was sent here on its own answers nobody's words.
    if (!text && !files.length) return;
    this.said = saidNode(text);
    this.node.append(this.said);
  }

  // The id of its message: from now on its files are shown.
  accepted(id) {
    const isFirst = this.id === null;
    this.id = id;
    if (!isFirst || !this.files.length) return;
    const views = this.files.map(({ name, size, type, mime }) => ({ name, size, mime: mime ?? type }));
    this.said.prepend(filesNode(id, "sent", views));
  }

  // Its files, to send them with another message.
  async filesToSend() {
    const areHere = this.files.every((file) => file instanceof File);
    return areHere ? this.files : fetchFiles(this.id, this.files);
  }

  // The tools below its own text.
  showTools(tools) {
    this.ownTools?.remove();
    this.ownTools = tools;
    this.said?.after(tools);
    if (this.versionsBar) tools.prepend(this.versionsBar);
  }

  showVersions(bar) {
    this.versionsBar?.remove();
    this.versionsBar = bar;
    if (bar) this.ownTools?.prepend(bar);
  }

  // What is no longer part of the conversation because another version took its place is not folded.
  setOld(isOld) {
    if (this.isOld === isOld) return;
    this.isOld = isOld;
    this.node.classList.toggle("old", isOld);
    this.fold(this.takenOut);
  }

  // `takenOut` is "all", "reply" or "": what models no longer see of it is folded.
  fold(takenOut) {
    const isFolded = this.node.querySelector(":scope > details.taken-out") !== null;
    if (takenOut === this.takenOut && isFolded === (takenOut !== "" && !this.isOld)) return;
    this.unfold();
    this.takenOut = takenOut;
    if (!takenOut || this.isOld) return;
    const details = element("details", "taken-out");
    details.append(element("summary", "", this.summary()));
    const folded = [...this.node.children].filter(
      (child) => takenOut === "all" || !(child === this.said || child === this.ownTools),
    );
    details.append(...folded);
    this.node.append(details);
  }

  unfold() {
    const details = this.node.querySelector(":scope > details.taken-out");
    details?.replaceWith(...[...details.children].slice(1));
  }

  summary() {
    if (this.takenOut === "reply") return say("exchange.old_reply");
    return say("exchange.old", { words: this.text.trim().split("\n")[0].slice(0, 60) });
  }
}

function saidNode(text) {
  const node = element("article", "message mine");
  node.setAttribute("aria-label", say("said.by_you"));
  if (text !== "") node.append(element("div", "said", text ?? say("said.erased")));
  return node;
}
