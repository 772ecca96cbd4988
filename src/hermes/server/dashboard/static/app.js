// Starts the dashboard: the menu, the address, the keys, and the page that the address names.

import { openModal } from "./action.js";
import { el, find } from "./dom.js";
import { allows, catalogue, loadCatalogue } from "./gateway.js";
import { t } from "./strings.js";
import { problem } from "./table.js";

const ROOT = "/dashboard";
const FIRST = "overview";
let leave = new AbortController();
let refreshers = [];

async function start() {
  find("skip").textContent = t("skip");
  find("menu").textContent = t("menu");
  try {
    const { role, version } = await loadCatalogue();
    find("who").textContent = t("who", { role, version });
  } catch (error) {
    find("main").replaceChildren(problem(error, start));
    return;
  }
  find("nav").setAttribute("aria-label", t("pages"));
  find("nav").replaceChildren(...groups());
  await show();
}

function groups() {
  const seen = catalogue().pages.filter((page) => allows(page.least));
  return [...new Set(seen.map(({ group }) => group))].map((group) =>
    el(
      "div",
      { class: "group" },
      el("h2", {}, t(`group.${group}`)),
      el(
        "ul",
        {},
        seen
          .filter((page) => page.group === group)
          .map(({ name }) => el("li", {}, el("a", { href: addressOf(name), "data-page": name }, t(`page.${name}`)))),
      ),
    ),
  );
}

const addressOf = (name) => (name === FIRST ? ROOT : `${ROOT}/${name}`);

async function show() {
  leave.abort();
  leave = new AbortController();
  refreshers = [];
  const [name = FIRST, ...rest] = location.pathname.slice(ROOT.length).split("/").filter(Boolean);
  const page = catalogue().pages.find((one) => one.name === name);
  const title = page ? t(`page.${name}`) : t("no_page");
  document.title = t("title", { page: title });
  for (const link of find("nav").querySelectorAll("a")) {
    if (link.dataset.page === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  closeMenu();
  const main = find("main");
  main.replaceChildren(el("h1", {}, title));
  if (!page) main.append(el("p", { class: "empty" }, t("no_page.words", { name: name.slice(0, 80) })));
  else if (!allows(page.least)) main.append(forbidden(page));
  else await open(page, { title, id: rest.length ? decodeURIComponent(rest.join("/")) : null });
}

const forbidden = ({ least }) =>
  el("p", { class: "trouble", role: "alert" }, t("forbidden", { least, role: catalogue().role }));

async function open({ name }, { title, id }) {
  const { signal } = leave;
  const view = {
    main: el("div", { class: "content" }),
    id,
    title,
    signal,
    path: `${ROOT}/${name}`,
    query: new URLSearchParams(location.search),
    go,
    onRefresh: (again) => refreshers.push(again),
  };
  find("main").append(view.main);
  try {
    const module = await import(`./pages/${name}.js`);
    if (!signal.aborted) await module.show(view);
  } catch (error) {
    if (!signal.aborted) view.main.replaceChildren(problem(error, show));
  }
}

function go(address) {
  history.pushState(null, "", address);
  show();
}

function follow(event) {
  const link = event.target.closest?.("a");
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  if (!link || !isPlain || link.origin !== location.origin || link.hash) return;
  if (link.pathname !== ROOT && !link.pathname.startsWith(`${ROOT}/`)) return;
  event.preventDefault();
  go(link.href);
  find("main").focus();
}

function openMenu() {
  const isOpen = find("nav").classList.toggle("open");
  find("menu").setAttribute("aria-expanded", String(isOpen));
  if (isOpen) find("nav").querySelector("a")?.focus();
}

function closeMenu() {
  find("nav").classList.remove("open");
  find("menu").setAttribute("aria-expanded", "false");
}

const KEYS = {
  "/": () => find("main").querySelector("input, select, textarea")?.focus(),
  r: () => refreshers.forEach((again) => again()),
  m: () => find("nav").querySelector("a[aria-current], a")?.focus(),
  n: () => step(1),
  p: () => step(-1),
  "?": () => openModal(t("keys"), el("dl", { class: "detail" }, Object.keys(KEYS).flatMap((key) => [
    el("dt", {}, el("kbd", {}, key)),
    el("dd", {}, t(`key.${key}`)),
  ])), el("p", { class: "quiet" }, t("keys.close"))),
};

function step(by) {
  const links = [...find("nav").querySelectorAll("a")];
  const at = links.findIndex((link) => link.hasAttribute("aria-current"));
  links[(at + by + links.length) % links.length]?.click();
}

function press(event) {
  const isTyping = event.target.closest?.("input, textarea, select, dialog");
  if (event.key === "Escape") closeMenu();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  KEYS[event.key]();
}

document.addEventListener("click", follow);
document.addEventListener("keydown", press);
find("menu").addEventListener("click", openMenu);
addEventListener("popstate", show);
start();
