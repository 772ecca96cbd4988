// The chat page: which conversation is open, what is being written, and every key and button.

import { getConversation, getConversations, getInfo, stopConversation } from "./api.js";
import { closeOverlay, drawConversations, setUpSidebar } from "./sidebar.js";
import { Turn } from "./turn.js";
import { keepUnsent, noteSignOut, takeUnsent } from "./unsent.js";
import { dividerNode, element, FRESH_START, ReplyView, saidNode } from "./view.js";

const find = (id) => document.getElementById(id);
const text = find("text");
const scroll = find("scroll");
const messages = find("messages");
const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

// State of the conversation: its epoch once loaded, the epoch of the oldest message shown, the ids of
// the messages on the page, and the key of the page before them.
const nothingShown = () => ({ epoch: null, oldest: 0, shown: new Set(), earlier: null });
const state = { conversation: "", turns: new Set(), sticks: true, ...nothingShown() };

// Conversations

async function open(id) {
  for (const turn of state.turns) turn.leave();
  state.turns.clear();
  Object.assign(state, { conversation: id, ...nothingShown() });
  find("earlier").hidden = true;
  find("earlier-problem").textContent = "";
  messages.replaceChildren();
  setTitle("");
  showEmpty();
  update();
  closeOverlay();
  text.focus();
  await loadConversation(id);
}

async function loadConversation(id) {
  try {
    const page = await getConversation(id);
    if (state.conversation !== id) return;
    state.epoch = page.epoch;
    showPage(page, page.epoch);
    if (!messages.childElementCount) await loadEarlier();
    toEnd();
    refreshList();
  } catch (problem) {
    if (state.conversation === id) showLoadProblem(id, problem);
  }
}

async function loadEarlier() {
  const id = state.conversation;
  const button = find("earlier");
  // A disabled button would lose the focus.
  if (button.ariaBusy === "true") return;
  button.ariaBusy = "true";
  find("earlier-problem").textContent = "";
  try {
    // A page may hold only messages that are already shown.
    const first = messages.firstElementChild;
    while (state.earlier && messages.firstElementChild === first) {
      const page = await getConversation(id, { before: state.earlier });
      if (state.conversation !== id) return;
      const top = topOf(first);
      showPage(page, first ? state.oldest : state.epoch);
      scroll.scrollTop += topOf(first) - top;
    }
  } catch {
    if (state.conversation === id) {
      find("earlier-problem").textContent = "Earlier messages could not be loaded. Try again.";
    }
  } finally {
    button.ariaBusy = "false";
    if (button.hidden) text.focus({ preventScroll: true });
  }
}

const topOf = (node) => node?.getBoundingClientRect().top ?? 0;

// Inserts a page's messages above the shown ones; `epoch` is that of the message after them.
function showPage({ messages: kept, earlier }, epoch) {
  const above = document.createDocumentFragment();
  const fresh = kept.filter(({ turn }) => !state.shown.has(turn.id));
  if (!messages.childElementCount && fresh.length) setTitle(fresh[0].text);
  fresh.forEach((one, number) => {
    showKept(one, above);
    if (one.epoch !== (fresh[number + 1]?.epoch ?? epoch)) above.append(dividerNode());
  });
  messages.prepend(above);
  if (fresh.length) state.oldest = fresh[0].epoch;
  state.earlier = earlier;
  find("earlier").hidden = !earlier;
  showEmpty();
}

function showKept({ text: said, turn }, holder) {
  state.shown.add(turn.id);
  // What was sent here on its own answers nobody's words.
  if (said) holder.append(saidNode(said));
  const view = addReply(holder);
  if (turn.state !== "done") follow(view, { messageId: turn.id }, said);
  else endTurn(view, turn, said);
}

// After a command the divider goes below its reply; on a new day, above the day's first message.
async function showFreshStart(view, turn) {
  const id = state.conversation;
  const page = await getConversation(id, { limit: 5 }).catch(() => null);
  if (!page || state.conversation !== id || state.epoch === null) return;
  if (page.epoch === state.epoch) return;
  state.epoch = page.epoch;
  const isFirst = page.messages.some((one) => one.turn.id === turn.id && one.epoch === page.epoch);
  const said = view.node.previousElementSibling;
  if (!isFirst) view.node.after(dividerNode());
  else (said?.matches(".mine") ? said : view.node).before(dividerNode());
  announce(FRESH_START);
  stick();
}

function showLoadProblem(id, problem) {
  const view = addReply();
  view.settle();
  view.card("problem-card", {
    title: "This conversation could not be loaded",
    text: problem instanceof TypeError ? "Cannot reach the server." : problem.message,
    buttons: [["Try again", () => open(id)]],
  });
  showEmpty();
}

function newConversation() {
  location.hash = `/${newId()}`;
}

// `randomUUID` exists only on https and localhost, not on a plain address of the local net.
function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function refreshList() {
  try {
    const { conversations } = await getConversations();
    drawConversations(conversations, state.conversation);
    const own = conversations.find(({ id }) => id === state.conversation);
    if (own?.title) setTitle(own.title);
  } catch {
    // The list is not essential: the next message requests it again.
  }
}

function setTitle(said) {
  const title = (said ?? "").trim().split("\n")[0].slice(0, 80) || "New conversation";
  find("title").textContent = title;
  document.title = title === "New conversation" ? "Hermes" : `${title} · Hermes`;
}

// Turns

function say(said) {
  messages.append(saidNode(said));
  if (messages.childElementCount === 1) setTitle(said);
  showEmpty();
  ask(said);
}

function ask(said) {
  const view = addReply();
  const message = { conversation: state.conversation, text: said, id: newId() };
  follow(view, { message }, said);
  toEnd();
}

function addReply(holder = messages) {
  const view = new ReplyView(announce);
  view.onDraw = stick;
  holder.append(view.node);
  return view;
}

function follow(view, what, said) {
  const turn = new Turn(what, {
    accepted: (id) => {
      state.shown.add(id);
      if (what.message) refreshList();
    },
    restart: () => view.restart(),
    event: (event, data) => showEvent(view, event, data),
    link: showLink,
    failed: (problem) => {
      forget(turn);
      showProblem(view, problem.message, () => ask(said));
    },
    end: (event, data) => {
      forget(turn);
      if (event === "parked") showQuestion(view, data, said);
      else {
        endTurn(view, data, said, true);
        showFreshStart(view, data);
      }
      // A conversation appears in the list after its first reply.
      if (what.message) refreshList();
      // An operator may have changed the model in the meantime.
      showInfo();
      stick();
    },
  });
  state.turns.add(turn);
  update();
  turn.follow();
}

function forget(turn) {
  state.turns.delete(turn);
  update();
}

function showEvent(view, event, data) {
  if (event === "delta") view.add(data.text);
  else if (event === "snapshot") view.replace(data.text);
  else if (event === "status") view.tell(data.text);
  else if (event === "tool") view.tell(`Using ${data.name}`);
  else if (event === "question") askPerson(view, data.text);
  else if (event === "settled") view.clear("asked-card");
  stick();
}

// A tool asks and waits: the person's next message is the answer.
function askPerson(view, asked) {
  view.clear("asked-card");
  view.card("asked-card question-card", {
    title: "A question",
    text: asked,
    buttons: [["Decline", () => say("/deny")]],
  });
  announce(asked);
  text.focus();
}

function endTurn(view, turn, said, isLive = false) {
  view.end(turn, { isLive });
  for (const notice of turn.notices ?? []) view.card("notice-card", { text: notice, buttons: [] });
  if (turn.outcome === "failed") {
    showProblem(view, turn.reply || turn.reason || "No reason was given.", () => ask(said));
  }
}

function showProblem(view, problem, retry) {
  view.settle();
  view.card("problem-card", {
    title: "That did not work",
    text: problem,
    buttons: [["Try again", () => retryIn(view, retry)]],
  });
  stick();
}

function retryIn(view, retry) {
  view.node.remove();
  retry();
  text.focus();
}

function showQuestion(view, turn, said) {
  view.text = turn.reply ?? view.text;
  view.settle();
  const decide = (command) => {
    // By its id: another approval may be pending in this conversation.
    const word = turn.approval ? `${command} ${turn.approval}` : command;
    const message = { conversation: state.conversation, text: word, id: newId() };
    const again = () => {
      view.node.remove();
      follow(addReply(), { messageId: turn.id }, said);
    };
    new Turn({ message }, { ...silent, end: again, failed: again }).follow();
  };
  view.card("question-card", {
    text: "This needs your approval before it continues.",
    buttons: [["Approve", () => decide("/approve")], ["Deny", () => decide("/deny")]],
  });
}

const nothing = () => {};
const silent = { accepted: nothing, restart: nothing, event: nothing, link: nothing };

async function stop() {
  if (!state.turns.size) return;
  try {
    await stopConversation(state.conversation);
  } catch {
    announce("The reply could not be stopped.");
    showLink(false);
  }
}

// Page state

function showLink(isUp) {
  const link = find("link");
  link.hidden = isUp;
  link.textContent = isUp ? "" : navigator.onLine
    ? "The connection to Hermes is lost. Reconnecting …"
    : "You are offline. The reply continues when the connection is back.";
}

function showEmpty() {
  const isEmpty = messages.childElementCount === 0;
  find("empty").hidden = !isEmpty;
  messages.hidden = isEmpty;
}

function announce(said) {
  const holder = find("announcer");
  holder.append(element("p", "", said));
  while (holder.childElementCount > 20) holder.firstChild.remove();
}

function update() {
  find("stop").hidden = state.turns.size === 0;
  find("send").disabled = text.value.trim() === "";
}

function stick() {
  if (state.sticks) scroll.scrollTop = scroll.scrollHeight;
}

function toEnd() {
  state.sticks = true;
  find("jump").hidden = true;
  stick();
}

function onScroll() {
  state.sticks = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 60;
  find("jump").hidden = state.sticks;
}

function grow() {
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight}px`;
  update();
}

function submit() {
  const said = text.value.trim();
  if (!said) return;
  text.value = "";
  find("unsent").hidden = true;
  grow();
  say(said);
  text.focus();
}

function keepWhatIsUnsent() {
  noteSignOut();
  const waiting = [...state.turns].filter((turn) => turn.message && !turn.messageId);
  const said = [...waiting.map((turn) => turn.message.text), text.value.trim()].filter(Boolean);
  if (said.length) keepUnsent(state.conversation, said.join("\n\n"));
}

function putUnsentBack() {
  const unsent = takeUnsent();
  if (!unsent) return;
  history.replaceState(null, "", `#/${encodeURIComponent(unsent.conversation)}`);
  text.value = unsent.text;
  grow();
  find("unsent").hidden = false;
}

function onTextKey(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  submit();
}

function onPageKey(event) {
  if (event.key === "Escape") {
    if (!closeOverlay()) stop();
  } else if (event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey)) {
    event.preventDefault();
    newConversation();
  }
}

async function showInfo() {
  try {
    const info = await getInfo();
    find("model").textContent = info.model ?? "";
    find("model").hidden = !info.model;
    find("notice").hidden = !info.demo || sessionStorage.getItem("notice") === "hidden";
  } catch {
    // Not essential: without it the page only lacks the model's name.
  }
}

function openFromAddress() {
  const named = /^#\/(.+)$/.exec(location.hash);
  const id = named ? decodeURIComponent(named[1]) : newId();
  if (!named) history.replaceState(null, "", `#/${id}`);
  open(id);
}

function useIdea(event) {
  const idea = event.target.closest(".idea");
  if (!idea) return;
  text.value = idea.textContent;
  grow();
  text.focus();
}

function setUp() {
  find("new-key").textContent = isMac ? "⌘ K" : "Ctrl K";
  find("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  text.addEventListener("keydown", onTextKey);
  text.addEventListener("input", grow);
  scroll.addEventListener("scroll", onScroll, { passive: true });
  addEventListener("keydown", onPageKey);
  addEventListener("hashchange", openFromAddress);
  addEventListener("signed-out", keepWhatIsUnsent);
  addEventListener("offline", () => state.turns.size && showLink(false));
  find("stop").addEventListener("click", stop);
  find("new").addEventListener("click", newConversation);
  find("jump").addEventListener("click", toEnd);
  find("earlier").addEventListener("click", loadEarlier);
  find("empty").addEventListener("click", useIdea);
  find("close-notice").addEventListener("click", () => {
    sessionStorage.setItem("notice", "hidden");
    find("notice").hidden = true;
    text.focus();
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    text.focus();
  });
  setUpSidebar();
}

setUp();
putUnsentBack();
showInfo();
openFromAddress();
