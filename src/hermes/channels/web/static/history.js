// What is kept of the open conversation: its pages, folds and dividers, and what was written elsewhere.

import { getConversation } from "./api.js";
import { showProblem } from "./cards.js";
import { CHANGES_PAST, Exchange } from "./exchange.js";
import { showMemory } from "./memory.js";
import { announce, find, setTitle } from "./page.js";
import { scrollDown, stick, toEnd } from "./scroll.js";
import { dividerNode, FRESH_START, ReplyView } from "./view.js";

const NEWEST = 20;

const topOf = (node) => node?.getBoundingClientRect().top ?? 0;

export async function load(conversation) {
  showProblemOfEarlier("");
  find("earlier").hidden = true;
  try {
    const page = await getConversation(conversation.id);
    if (!conversation.isOpen) return;
    conversation.epoch = page.epoch;
    if (page.messages.length) conversation.isTemporary = page.temporary;
    showMemory(page);
    showPage(conversation, page, page.epoch);
    if (!conversation.holder.childElementCount) await loadEarlier(conversation);
    toEnd();
    conversation.on.listed();
  } catch (problem) {
    if (conversation.isOpen) showLoadProblem(conversation, problem);
  }
}

export async function loadEarlier(conversation) {
  const button = find("earlier");
  // A disabled button would lose the focus.
  if (button.ariaBusy === "true") return;
  button.ariaBusy = "true";
  showProblemOfEarlier("");
  try {
    // A page may hold only messages that are already shown.
    const first = conversation.holder.firstElementChild;
    while (conversation.earlier && conversation.holder.firstElementChild === first) {
      const page = await getConversation(conversation.id, { before: conversation.earlier });
      if (!conversation.isOpen) return;
      const top = topOf(first);
      showPage(conversation, page, first ? conversation.oldest : conversation.epoch);
      scrollDown(topOf(first) - top);
    }
  } catch {
    if (conversation.isOpen) showProblemOfEarlier("Earlier messages could not be loaded. Try again.");
  } finally {
    button.ariaBusy = "false";
    if (button.hidden) find("text").focus({ preventScroll: true });
  }
}

const showProblemOfEarlier = (text) => {
  find("earlier-problem").textContent = text;
};

// Inserts a page's messages above the shown ones; `epoch` is that of the message after them.
function showPage(conversation, { messages, earlier }, epoch) {
  const above = document.createDocumentFragment();
  const fresh = messages.filter(({ turn }) => !conversation.shown.has(turn.id));
  if (!conversation.holder.childElementCount && fresh.length) setTitle(fresh[0].text || fresh[0].files[0]?.name);
  fresh.forEach((one, number) => {
    const exchange = exchangeOf(one);
    above.append(exchange.node);
    conversation.showTurn(exchange, one.turn);
    exchange.fold(one.taken_out);
    if (one.epoch !== (fresh[number + 1]?.epoch ?? epoch)) above.append(dividerNode());
  });
  conversation.holder.prepend(above);
  if (fresh.length) conversation.oldest = fresh[0].epoch;
  conversation.earlier = earlier;
  find("earlier").hidden = !earlier;
  conversation.layOut();
  conversation.showEmpty();
}

// `one` is a message as the server reports it.
function exchangeOf(one) {
  const exchange = new Exchange(one.text, one.files);
  exchange.replaces = one.replaces;
  exchange.epoch = one.epoch;
  return exchange;
}

function showLoadProblem(conversation, problem) {
  const view = new ReplyView(announce);
  conversation.holder.append(view.node);
  const text = problem instanceof TypeError ? "Cannot reach the server." : problem.message;
  const again = () => conversation.on.reopen();
  showProblem(view, "This conversation could not be loaded", text, again);
  conversation.showEmpty();
}

// Shows what has changed on the server: messages from other tabs, decided approvals, what was taken
// out, a fresh start. `exchange` is one that has just ended on this page.
export async function catchUp(conversation, exchange = null) {
  if (conversation.epoch === null) return;
  const waiting = [...conversation.approvals.values()];
  const isWhole = exchange !== null && CHANGES_PAST.test(exchange.text);
  const range = isWhole ? {} : { limit: NEWEST };
  const page = await getConversation(conversation.id, range, { isBackground: true }).catch(() => null);
  if (!page || !conversation.isOpen) return;
  if (hasGap(conversation, page)) {
    conversation.on.reopen();
    return;
  }
  const written = showWritten(conversation, page.messages);
  if (written.length) conversation.isTemporary = page.temporary;
  if (page.messages.length) showMemory(page);
  refold(conversation, page);
  for (const { messageId, end } of waiting) if (isDecided(page, messageId)) end();
  showFreshStart(conversation, page, exchange);
  if (exchange || written.length) stick();
  const change = written.find(({ text }) => CHANGES_PAST.test(text));
  if (change) await catchUp(conversation, change);
}

// More was written elsewhere than a page has.
function hasGap({ shown, unconfirmed }, { messages, earlier }) {
  if (earlier === null || !messages.length || unconfirmed.length) return false;
  return !messages.some(({ turn }) => shown.has(turn.id));
}

// Shows the messages of a page that are not on this one, in their places; returns their exchanges.
function showWritten(conversation, messages) {
  const written = [];
  // A message that is not confirmed yet has no id here, but may be among them.
  if (conversation.unconfirmed.length) return written;
  let next = null;
  for (const one of [...messages].reverse()) {
    let exchange = conversation.shown.get(one.turn.id);
    if (!exchange) {
      exchange = exchangeOf(one);
      written.unshift(exchange);
      conversation.holder.insertBefore(exchange.node, next);
      conversation.showTurn(exchange, one.turn, { isLive: true });
    }
    next = exchange.node;
  }
  if (written.length) conversation.layOut();
  conversation.showEmpty();
  return written;
}

function refold(conversation, { messages }) {
  for (const { turn, taken_out: takenOut } of messages) {
    conversation.shown.get(turn.id)?.fold(takenOut);
  }
}

const isDecided = ({ messages }, id) =>
  messages.some(({ turn }) => turn.id === id && turn.state !== "parked");

// After a command the divider goes below its reply; on a new day, above the day's first message.
function showFreshStart(conversation, page, exchange) {
  if (page.epoch <= conversation.epoch || (!exchange && conversation.turns.size)) return;
  conversation.epoch = page.epoch;
  conversation.layOut();
  const first = page.messages.find(({ epoch }) => epoch === page.epoch);
  const known = first && conversation.shown.get(first.turn.id);
  const below = known ? known.node : exchange?.node.nextSibling;
  conversation.holder.insertBefore(dividerNode(), below ?? null);
  announce(FRESH_START);
}
