// Messages on the page: the person's text, the reply as it streams, its cost, its errors.

import { element } from "./element.js";
import { filesNode } from "./files.js";
import { plainText, renderInto } from "./markdown.js";
import { say } from "./strings.js";

const ENDINGS = new Set(["interrupted", "expired", "merged", "refused", "failed"]);

export const storyOf = (id) => `/why/${encodeURIComponent(id)}`;

export const FRESH_START = say("conversation.fresh");

export const dividerNode = () => element("p", "divider", FRESH_START);

export class ReplyView {
  constructor(announce) {
    this.announce = announce;
    this.text = "";
    this.spoken = 0;
    this.frame = 0;
    this.node = element("article", "message reply writing");
    this.node.setAttribute("aria-label", say("reply.by"));
    this.node.setAttribute("aria-busy", "true");
    const face = element("img", "face");
    face.src = "/assets/icon.svg";
    face.alt = "";
    this.progress = element("div", "progress");
    this.progressText = element("span");
    const dots = element("span", "dots");
    dots.append(element("i"), element("i"), element("i"));
    this.progress.append(dots, this.progressText);
    this.body = element("div", "body");
    this.node.append(face, this.progress, this.body);
  }

  restart() {
    this.text = "";
  }

  add(text) {
    this.text += text;
    this.tell("");
    this.draw();
  }

  replace(text) {
    this.text = text;
    this.draw();
  }

  tell(text) {
    this.progressText.textContent = text;
    this.progress.hidden = text === "" && this.text !== "";
  }

  draw() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      renderInto(this.body, this.text);
      this.speak(false);
      this.onDraw?.();
    });
  }

  // Whole sentences, so that a screen reader does not read single words.
  speak(isEnd) {
    const fresh = this.text.slice(this.spoken);
    const cut = isEnd ? fresh.length : lastMark(fresh) + 1;
    if (cut < (isEnd ? 1 : 40)) return;
    this.announce(plainText(fresh.slice(0, cut)));
    this.spoken += cut;
  }

  end(turn, { isLive = false } = {}) {
    // The text of a failed turn is shown in a card, not as its reply, unless it is a part of an answer.
    if (turn.outcome === "failed" && !turn.partial) this.text = "";
    else if (turn.reply) this.text = turn.reply;
    this.settle();
    if (isLive) this.speak(true);
    this.node.append(...unfolding(turn));
    if (turn.files) this.node.append(filesNode(turn.id, "reply", turn.files));
    this.node.append(factsNode(turn));
  }

  settle() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.progress.hidden = true;
    this.node.classList.remove("writing");
    this.node.removeAttribute("aria-busy");
    renderInto(this.body, this.text);
  }

  clear(className) {
    for (const card of this.node.querySelectorAll(`.${className}`)) card.remove();
  }

  // `detail` is shown as it was written, `note` is small, `link` is [label, address].
  card(className, { title, text, detail, note, id, link, buttons }) {
    const card = element("div", className);
    card.setAttribute("role", className === "problem-card" ? "alert" : "group");
    if (title) card.append(element("strong", "", title));
    if (text) card.append(element("p", "", text));
    if (detail) card.append(element("pre", "detail", detail));
    if (note) card.append(element("p", "note", note));
    if (id) card.append(element("p", "note id", id));
    const row = element("div", "card-buttons");
    for (const [label, action] of buttons) {
      const button = element("button", "", label);
      button.type = "button";
      button.addEventListener("click", () => {
        card.remove();
        action();
      });
      row.append(button);
    }
    if (link) row.append(linkNode(...link));
    card.append(row);
    this.body.after(card);
  }
}

// Opens beside the chat, so that a reply that is being written goes on.
function linkNode(label, address) {
  const link = element("a", "", label);
  link.href = address;
  link.target = "_blank";
  link.rel = "noopener";
  return link;
}

function factsNode(turn) {
  const node = element("div", "facts");
  // A part of an answer says itself that it is one.
  const ending = !turn.partial && ENDINGS.has(turn.outcome) ? say(`reply.${turn.outcome}`) : "";
  const facts = [ending, turn.model];
  if (turn.tool_calls.length) {
    const tools = [...new Set(turn.tool_calls.map((tool) => tool.name))].join(", ");
    facts.push(say("reply.used", { tools }));
  }
  if (turn.tokens_in || turn.tokens_out) {
    const counts = { in: number(turn.tokens_in), out: number(turn.tokens_out) };
    facts.push(say("reply.tokens", counts), price(turn));
  }
  node.append(...facts.filter(Boolean).map((fact) => element("span", "", fact)));
  // The card of a failure has this link.
  if (turn.outcome === "failed") return node;
  const why = linkNode(say("reply.why"), storyOf(turn.id));
  why.setAttribute("aria-label", say("reply.why_label"));
  node.append(why);
  return node;
}

// What unfolds below an answer: the thoughts before it, and the calls of tools.
function unfolding({ thoughts, tool_calls: calls }) {
  const found = [];
  if (thoughts) found.push(folded(say("thoughts.title"), [element("p", "thought", thoughts)]));
  if (calls.length) found.push(folded(say("calls.title"), calls.flatMap(callNodes)));
  return found;
}

function folded(title, nodes) {
  const details = element("details", "unfold");
  details.append(element("summary", "", title), ...nodes);
  return details;
}

function callNodes({ name, arguments: given, failed, result }) {
  const head = element("p", "call-name", name);
  if (failed) head.append(" ", element("span", "call-failed", say("calls.failed")));
  const nodes = [head, detail(given, say("calls.arguments", { tool: name }))];
  return result ? [...nodes, detail(result, say("calls.result", { tool: name }))] : nodes;
}

function detail(text, label) {
  const node = element("pre", "detail", text);
  node.tabIndex = 0;
  node.setAttribute("role", "region");
  node.setAttribute("aria-label", label);
  return node;
}

function number(value) {
  return value.toLocaleString("en");
}

function price({ cost_usd: cost }) {
  if (cost === null) return say("reply.no_price");
  if (cost === 0) return "";
  if (cost >= 0.01) return `$${cost.toFixed(2)}`;
  if (cost < 0.000001) return say("reply.tiny_price");
  return `$${cost.toFixed(1 - Math.floor(Math.log10(cost))).replace(/0+$/, "")}`;
}

function lastMark(text) {
  return Math.max(...[...".!?:\n"].map((mark) => text.lastIndexOf(mark)));
}
