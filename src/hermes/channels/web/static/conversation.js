// The open conversation: its exchanges and turns. What is kept of it comes in through history.js.

import { stopConversation } from "./api.js";
import { showApproval, showFailure, showNotice, showProblem, showQuestion } from "./cards.js";
import { Exchange } from "./exchange.js";
import { chooseModel } from "./models.js";
import { announce, find, newId, setTitle, showLink } from "./page.js";
import { stick, toEnd } from "./scroll.js";
import { say } from "./strings.js";
import { replyTools, saidTools } from "./tools.js";
import { Turn } from "./turn.js";
import { Versions } from "./versions.js";
import { ReplyView } from "./view.js";

const nothing = () => {};
const silent = { accepted: nothing, restart: nothing, event: nothing, link: nothing };

export class Conversation {
  // Callbacks in `on`: turns (one began or ended), listed (the list of conversations has changed),
  // ended (takes the exchange and the turn that ended), edit (takes the exchange to edit).
  constructor(id, on) {
    this.id = id;
    this.on = on;
    this.isOpen = true;
    this.isTemporary = false;
    // Its epoch once loaded, the epoch of the oldest message shown, and the key of the page before.
    this.epoch = null;
    this.oldest = 0;
    this.earlier = null;
    // The exchanges on the page by the ids of their messages.
    this.shown = new Map();
    // Open approvals by their ids: {messageId, end}; `end` follows the message again.
    this.approvals = new Map();
    this.turns = new Set();
    this.versions = new Versions();
    this.versions.onChoose = () => this.layOut();
    // What the tools below messages do.
    this.act = {
      edit: (exchange) => this.on.edit(exchange),
      again: (exchange) => this.again(exchange),
      withModel: (exchange, button) => this.withModel(exchange, button),
      goOn: () => this.say(say("continue.text")),
    };
    this.holder = find("messages");
    this.holder.replaceChildren();
    this.showEmpty();
  }

  leave() {
    this.isOpen = false;
    for (const turn of this.turns) turn.leave();
    this.turns.clear();
  }

  // The newest exchange whose message can be edited.
  get lastEditable() {
    const nodes = [...this.holder.querySelectorAll(":scope > .exchange:not([hidden], .past)")];
    return nodes.reverse().find((node) => node.querySelector(":scope > .tools .change"))?.exchange;
  }

  get unconfirmed() {
    return [...this.turns].filter((turn) => turn.message && !turn.messageId);
  }

  showEmpty() {
    const isEmpty = this.holder.childElementCount === 0;
    find("empty").hidden = !isEmpty;
    this.holder.hidden = isEmpty;
  }

  // Shows the versions that are chosen, and what can be done with each exchange.
  layOut() {
    const exchanges = [...this.holder.children].map((node) => node.exchange).filter(Boolean);
    find("old-version").hidden = this.versions.apply(exchanges);
    for (const { node, epoch } of exchanges) {
      // What was said before the conversation was loaded belongs to its newest epoch.
      node.classList.toggle("past", epoch !== null && epoch !== this.epoch);
    }
  }

  showNewest() {
    this.versions.showNewest();
    this.layOut();
    toEnd();
  }

  say(text, files = [], replaces = "") {
    const exchange = new Exchange(text, files);
    exchange.replaces = replaces;
    exchange.epoch = this.epoch;
    this.versions.showNewest();
    this.holder.append(exchange.node);
    if (this.holder.childElementCount === 1) setTitle(text || files[0]?.name);
    this.showEmpty();
    this.ask(exchange, files);
    this.layOut();
    return exchange;
  }

  // Puts another version in the place of a message and of all that followed.
  async replace(old, text, files) {
    if (this.turns.size) await this.stop();
    this.say(text, files, old.id);
  }

  async again(exchange) {
    try {
      await this.replace(exchange, exchange.text, await exchange.filesToSend());
    } catch (problem) {
      announce(problem.message);
    }
  }

  // The model stays that of the conversation, as if it was chosen above.
  withModel(exchange, button) {
    const choose = async (name) => {
      const outcome = await this.say(`/model ${name}`).ended;
      if (outcome === "answered") await this.again(exchange);
    };
    return chooseModel(button, say("models.other"), choose, { hasAuto: false });
  }

  ask(exchange, files) {
    // What was accepted before has taken its place already.
    const replaces = exchange.id === null ? exchange.replaces : "";
    const message = this.newMessage(exchange.text, files);
    this.follow(exchange, { message: replaces ? { ...message, replaces } : message });
    toEnd();
  }

  async askAgain(exchange) {
    try {
      this.ask(exchange, await exchange.filesToSend());
    } catch (problem) {
      announce(problem.message);
      this.ask(exchange, []);
    }
  }

  newMessage(text, files = []) {
    const message = { conversation: this.id, text, id: newId(), files };
    return this.isTemporary ? { ...message, temporary: true } : message;
  }

  // `turn` is the state of a message as the server reports it.
  showTurn(exchange, turn, { isLive = false } = {}) {
    this.shown.set(turn.id, exchange);
    exchange.outcome = turn.outcome;
    exchange.accepted(turn.id);
    exchange.showTools(saidTools(exchange, this.act));
    if (turn.state === "done") this.endTurn(addReply(exchange), turn, exchange, { isLive });
    else this.follow(exchange, { messageId: turn.id });
  }

  // `what` is {message} for a new message or {messageId}.
  follow(exchange, what) {
    const view = addReply(exchange);
    const turn = new Turn(what, {
      accepted: (accepted) => this.onAccepted(view, exchange, accepted, what),
      restart: () => view.restart(),
      event: (event, data) => this.showEvent(view, event, data),
      link: showLink,
      failed: (problem) => {
        this.forget(turn);
        const again = () => restart(view, () => this.askAgain(exchange));
        showProblem(view, say("problem.title"), problem.message, again);
        stick();
      },
      end: (event, data) => {
        this.forget(turn);
        if (event === "parked") this.showApproval(view, data, exchange);
        else {
          this.endTurn(view, data, exchange, { isLive: true });
          this.on.ended(exchange, data);
        }
        if (what.message || event === "parked") this.on.listed();
        stick();
      },
    });
    this.turns.add(turn);
    this.on.turns();
    turn.follow();
  }

  forget(turn) {
    this.turns.delete(turn);
    this.on.turns();
  }

  onAccepted(view, exchange, { id, denied }, what) {
    this.shown.set(id, exchange);
    exchange.accepted(id);
    exchange.showTools(saidTools(exchange, this.act));
    this.layOut();
    // What this message has denied ends now, under its own question.
    const waiting = this.approvals.get(denied?.approval);
    if (waiting) waiting.end();
    else if (denied) showNotice(view, say("tool.not_run", { tool: denied.tool }));
    // A new conversation is listed with its first message.
    if (what.message) this.on.listed();
  }

  showEvent(view, event, data) {
    if (event === "delta") view.add(data.text);
    else if (event === "snapshot") view.replace(data.text);
    else if (event === "status") view.tell(data.text);
    else if (event === "tool") view.tell(say("reply.using", { tool: data.name }));
    else if (event === "question") this.askPerson(view, data.text);
    else if (event === "settled") view.clear("asked-card");
    stick();
  }

  askPerson(view, asked) {
    showQuestion(view, asked, () => this.say("/deny"));
    announce(asked);
    find("text").focus();
  }

  endTurn(view, turn, exchange, { isLive }) {
    view.end(turn, { isLive });
    view.node.append(replyTools(exchange, turn, view.text, this.act));
    if (isLive) {
      exchange.outcome = turn.outcome;
      exchange.end(turn.outcome);
      this.layOut();
    }
    for (const notice of turn.notices ?? []) showNotice(view, notice);
    if (turn.outcome !== "failed") return;
    showFailure(view, turn, () => restart(view, () => this.askAgain(exchange)));
  }

  showApproval(view, turn, exchange) {
    const end = () => {
      this.approvals.delete(turn.approval);
      if (!view.node.isConnected) return;
      view.node.remove();
      this.follow(exchange, { messageId: turn.id });
      this.on.listed();
    };
    this.approvals.set(turn.approval, { messageId: turn.id, end });
    showApproval(view, turn, (command) => this.decide(turn.approval, command, end));
    announce(turn.reply ?? "");
  }

  decide(approval, command, end) {
    // By its id: another approval may be pending in this conversation.
    const message = this.newMessage(approval ? `${command} ${approval}` : command);
    const decided = (_event, decision) => {
      if (decision.outcome === "refused") announce(decision.reply);
      end();
    };
    new Turn({ message }, { ...silent, end: decided, failed: end }).follow();
  }

  async stop() {
    if (!this.turns.size) return;
    try {
      await stopConversation(this.id);
    } catch {
      announce(say("stop.failed"));
      showLink(false);
    }
  }
}

function addReply(exchange) {
  const view = new ReplyView(announce);
  view.onDraw = stick;
  exchange.node.append(view.node);
  return view;
}

// A new attempt takes the place of a failed one.
function restart(view, retry) {
  view.node.remove();
  retry();
  find("text").focus();
}
