// The chat page: which conversation is open, what is being written, and every key and button.

import { showMe } from "./account.js";
import { getConversations, getInfo, getMe } from "./api.js";
import { hasFiles, limitFiles, putFiles, setUpFiles, takeFiles } from "./attach.js";
import { commandKey, setUpCommands } from "./commands.js";
import { Conversation } from "./conversation.js";
import { saveConversation } from "./export.js";
import { setUpHelp, showHelp, themeItems } from "./help.js";
import { catchUp, load, loadEarlier } from "./history.js";
import { setUpModels } from "./models.js";
import { openMenu } from "./popup.js";
import { resetMemory, setUpMemory, showSwitch } from "./memory.js";
import { announce, find, newId, setTitle, showLink } from "./page.js";
import { setUpScroll } from "./scroll.js";
import { closeOverlay, drawConversations, focusSearch, setUpSidebar } from "./sidebar.js";
import { say } from "./strings.js";
import { hasUnsent, keepUnsent, keepUnsentOf, noteSignOut, takeUnsent } from "./unsent.js";

// How often a visible page looks for what other tabs and people at the terminal have done.
const LOOK_MS = 3000;
const text = find("text");
const CONTROL = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";
let conversation = null;
// The exchange whose message is being edited.
let editing = null;

// Conversations

async function open(id) {
  conversation?.leave();
  if (editing) cancelEdit();
  resetMemory();
  setTitle("");
  const opened = new Conversation(id, {
    turns: update,
    listed: refreshList,
    reopen: () => open(id),
    edit: beginEdit,
    ended: (exchange) => {
      catchUp(opened, exchange);
      // An operator may have changed the model in the meantime.
      showInfo();
    },
  });
  conversation = opened;
  update();
  closeOverlay();
  text.focus();
  await load(opened);
}

function newConversation() {
  location.hash = `/${newId()}`;
}

function openFromAddress() {
  const named = /^#\/(.+)$/.exec(location.hash);
  const id = named ? decodeURIComponent(named[1]) : newId();
  if (!named) history.replaceState(null, "", `#/${id}`);
  open(id);
}

async function drawList(options) {
  const { conversations } = await getConversations(options);
  drawConversations(conversations, conversation.id);
  const own = conversations.find(({ id }) => id === conversation.id);
  if (own?.title) setTitle(own.title);
}

// The list is not essential: the next message requests it again.
const refreshList = () => drawList().catch(() => {});

// What other tabs do

async function look() {
  if (document.hidden || !navigator.onLine) return;
  await drawList({ isBackground: true });
  await catchUp(conversation);
}

async function lookAgainAndAgain() {
  try {
    await look();
  } catch (problem) {
    // Signed out: the next thing that the person does shows the sign-in page.
    if (problem.status === 401) return;
  }
  setTimeout(lookAgainAndAgain, LOOK_MS);
}

// Page state

function update() {
  find("stop").hidden = !conversation?.turns.size;
  find("send").disabled = text.value.trim() === "" && !hasFiles();
}

function grow() {
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight}px`;
  update();
}

function submit() {
  const said = text.value.trim();
  if (!said && !hasFiles()) return;
  text.value = "";
  find("unsent").hidden = true;
  const files = takeFiles();
  if (editing) conversation.replace(editing, said, files);
  else conversation.say(said, files);
  endEdit();
  grow();
  text.focus();
}

// Editing an earlier message

async function beginEdit(exchange) {
  const files = await exchange.filesToSend().catch(() => []);
  editing = exchange;
  text.value = exchange.text;
  putFiles([...files]);
  find("editing").hidden = false;
  grow();
  text.focus();
}

function endEdit() {
  editing = null;
  find("editing").hidden = true;
}

function cancelEdit() {
  endEdit();
  text.value = "";
  putFiles([]);
  grow();
  text.focus();
}

function keepWhatIsUnsent() {
  noteSignOut();
  const waiting = conversation.unconfirmed.map(({ message }) => message.text);
  const said = [...waiting, text.value.trim()].filter(Boolean);
  if (said.length) keepUnsent(conversation.id, said.join("\n\n"));
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
  if (commandKey(event)) {
    event.stopPropagation();
    return;
  }
  if (event.key === "ArrowUp" && text.value === "" && !editing && conversation.lastEditable) {
    event.preventDefault();
    beginEdit(conversation.lastEditable);
    return;
  }
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  submit();
}

function onPageKey(event) {
  if (event.key === "Escape") {
    if (closeOverlay()) return;
    if (editing) cancelEdit();
    else conversation.stop();
  } else if (event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey)) {
    event.preventDefault();
    newConversation();
  } else if (event.key === "/" && (event.metaKey || event.ctrlKey)) {
    event.preventDefault();
    focusSearch();
  } else if (event.key === "?" && !event.target.closest("input, textarea, select")) {
    event.preventDefault();
    showHelp(CONTROL);
  }
}

function openMore() {
  const save = (kind) => () =>
    saveConversation(conversation.id, find("title").textContent, kind).catch(() => announce(say("more.failed")));
  openMenu(find("more"), say("more.title"), [
    { label: say("more.markdown"), action: save("md") },
    { label: say("more.json"), action: save("json") },
    { label: say("more.keys"), action: () => showHelp(CONTROL) },
    ...themeItems(),
  ]);
}

async function showInfo() {
  try {
    const info = await getInfo();
    find("model").textContent = info.model ?? "";
    find("model").hidden = !info.model;
    find("notice").hidden = !info.demo || sessionStorage.getItem("notice") === "hidden";
    showSwitch(info);
    limitFiles(info.files ?? null);
  } catch {
    // Not essential: without it the page only lacks the model's name.
  }
}

function closeNotice() {
  sessionStorage.setItem("notice", "hidden");
  find("notice").hidden = true;
  text.focus();
}

function useIdea(event) {
  const idea = event.target.closest(".idea");
  if (!idea) return;
  text.value = idea.textContent;
  grow();
  text.focus();
}

function useSwitch(isTemporary) {
  conversation.isTemporary = isTemporary;
  find("temporary-chip").hidden = !isTemporary;
  text.focus();
}

function setUp() {
  find("new-key").textContent = `${CONTROL} K`;
  find("more").ariaLabel = find("more").title = say("more.title");
  find("more").addEventListener("click", openMore);
  find("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  text.addEventListener("keydown", onTextKey);
  text.addEventListener("input", grow);
  addEventListener("keydown", onPageKey);
  addEventListener("hashchange", openFromAddress);
  addEventListener("signed-out", keepWhatIsUnsent);
  addEventListener("offline", () => conversation.turns.size && showLink(false));
  document.addEventListener("visibilitychange", () => look().catch(() => {}));
  find("stop").addEventListener("click", () => conversation.stop());
  find("new").addEventListener("click", newConversation);
  find("earlier").addEventListener("click", () => loadEarlier(conversation));
  find("cancel-edit").textContent = say("edit.cancel");
  find("cancel-edit").addEventListener("click", cancelEdit);
  find("editing-text").textContent = say("edit.editing");
  find("old-version-text").textContent = say("versions.old");
  find("show-newest").textContent = say("versions.newest");
  find("show-newest").addEventListener("click", () => conversation.showNewest());
  find("empty").addEventListener("click", useIdea);
  find("close-notice").addEventListener("click", closeNotice);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    text.focus();
  });
  setUpFiles(update);
  setUpCommands(grow);
  setUpModels((name) => conversation.say(`/model ${name}`));
  setUpHelp();
  setUpScroll();
  setUpSidebar();
  setUpMemory(useSwitch);
}

setUp();
if (hasUnsent()) await getMe().then(({ user }) => keepUnsentOf(user)).catch(() => {});
putUnsentBack();
showMe();
showInfo();
openFromAddress();
setTimeout(lookAgainAndAgain, LOOK_MS);
