// Who is signed in, and in which browsers: the button below the conversations and its dialog.

import { endSessions, getMe, getSessions } from "./api.js";
import { element } from "./element.js";
import { find } from "./page.js";
import { say } from "./strings.js";
import { knowUser } from "./unsent.js";

const dialog = find("account-dialog");
const problem = find("account-problem");

// The button is not essential: the chat works without it.
export async function showMe() {
  try {
    const { user, name, role } = await getMe();
    knowUser(user);
    find("account-name").textContent = name;
    find("account-who").textContent = role === "person" ? say("account.you", { name }) : say("account.operator", { name, role });
    find("account-dashboard").hidden = role === "person";
    find("account").hidden = false;
  } catch {
    find("account").hidden = true;
  }
}

async function draw() {
  const { sessions } = await getSessions();
  find("account-sessions").replaceChildren(...sessions.map(itemOf));
  find("account-others").hidden = sessions.filter((one) => !one.is_this).length === 0;
}

// A short name, such as "Firefox on Linux": most browsers also name those they descend from.
const BROWSERS = [[/Edg(e|A|iOS)?\//, "Edge"], [/OPR\//, "Opera"], [/(Firefox|FxiOS)\//, "Firefox"],
  [/(Chrome|Chromium|CriOS)\//, "Chrome"], [/Version\//, "Safari"]];
const SYSTEMS = [[/iPhone/, "iPhone"], [/iPad/, "iPad"], [/Android/, "Android"], [/Windows/, "Windows"],
  [/CrOS/, "ChromeOS"], [/Mac OS X|Macintosh/, "macOS"], [/Linux/, "Linux"]];

function nameOf(agent) {
  const [browser, system] = [BROWSERS, SYSTEMS].map((all) => all.find(([mark]) => mark.test(agent))?.[1]);
  return browser && system ? say("account.browser", { browser, system }) : agent.slice(0, 40) || say("account.a_browser");
}

function itemOf(session) {
  const item = element("li");
  const name = nameOf(session.browser);
  const text = element("div", "what");
  text.append(element("span", "browser", name));
  text.append(element("span", "when", session.is_this ? say("account.this") : whenOf(session)));
  item.append(text);
  if (!session.is_this) {
    const button = element("button", "", say("account.end"));
    button.type = "button";
    button.setAttribute("aria-label", say("account.end_one", { name }));
    button.addEventListener("click", () => end(session.id));
    item.append(button);
  }
  return item;
}

function whenOf({ seen_at: seen, created_at: made }) {
  const at = new Date((seen ?? made) * 1000).toLocaleString();
  return say(seen === null ? "account.made" : "account.seen", { at });
}

async function end(id) {
  await attempt(async () => {
    await endSessions(id);
    await draw();
    find("account-close").focus();
  });
}

async function attempt(work) {
  problem.textContent = "";
  try {
    await work();
  } catch (error) {
    problem.textContent =
      error instanceof TypeError ? say("account.lost") : error.message;
  }
}

find("account").addEventListener("click", () => {
  dialog.showModal();
  attempt(draw);
});
find("account-others").addEventListener("click", () => end(""));
find("account-close").addEventListener("click", () => dialog.close());
// The page's own keys, such as Esc for "stop", are off while the dialog is open.
dialog.addEventListener("keydown", (event) => event.stopPropagation());
