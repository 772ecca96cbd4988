"use strict";
// Everything that came from the chat is put in as text, never as markup.
const find = (id) => document.getElementById(id);
let chat = "chat-1";
let shown = "";

const post = async (path, body) => {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  find("note").textContent = answer.ok ? "" : await answer.text();
};

const buttonOf = (line, { label, value }) => {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: label });
  button.addEventListener("click", async () => {
    button.disabled = true;
    await post("press", { post: line.post, value, chat, name: find("name").value });
    button.disabled = false;
    await look();
  });
  return button;
};

const draw = (state) => {
  const now = JSON.stringify(state);
  if (now === shown) return;
  shown = now;
  document.title = `Try ${state.platform}`;
  find("title").textContent = `Try ${state.platform}`;
  find("chats").hidden = !state.has_groups;
  const items = state.lines.map((line) => {
    const item = document.createElement("li");
    item.className = line.mine ? "mine" : "";
    const who = document.createElement("small");
    const notes = [line.who, line.edits ? `edited ${line.edits === 1 ? "once" : `${line.edits} times`}` : "", line.deleted ? "deleted" : ""];
    who.textContent = notes.filter(Boolean).join(", ");
    const text = document.createElement("span");
    text.textContent = [line.text, ...line.files.map((name) => `[${name}]`)].filter(Boolean).join(" ");
    item.append(who, text, ...line.buttons.map((button) => buttonOf(line, button)));
    return item;
  });
  find("lines").replaceChildren(...items);
  find("lines").scrollTop = find("lines").scrollHeight;
  find("rejections").replaceChildren(
    ...state.rejections.map((rule) => Object.assign(document.createElement("li"), { textContent: rule })),
  );
};

const look = async () => {
  try {
    const answer = await fetch(`state?chat=${encodeURIComponent(chat)}`);
    if (answer.ok) draw(await answer.json());
  } catch {
    find("note").textContent = "The page's server has ended.";
  }
};

const pictureOf = (file) =>
  new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result).split(",")[1]);
    reader.readAsDataURL(file);
  });

find("say").addEventListener("submit", async (event) => {
  event.preventDefault();
  const file = find("picture").files[0];
  const text = find("text").value.trim();
  if (!text && !file) return;
  const said = { text, chat, name: find("name").value, mentions: find("mentions").checked };
  if (file) Object.assign(said, { picture: await pictureOf(file), mime: file.type, file: file.name });
  find("text").value = "";
  find("picture").value = "";
  await post("say", said);
  await look();
});

for (const button of document.querySelectorAll("[data-chat]")) {
  button.addEventListener("click", () => {
    chat = button.dataset.chat;
    find("naming").hidden = chat !== "group-1";
    for (const other of document.querySelectorAll("[data-chat]")) {
      other.setAttribute("aria-pressed", String(other === button));
    }
    look();
  });
}
for (const button of document.querySelectorAll("[data-fault]")) {
  button.addEventListener("click", () => post("fault", { kind: button.dataset.fault }));
}
setInterval(look, 400);
look();
