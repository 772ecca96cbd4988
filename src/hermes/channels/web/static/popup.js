// A small menu at a button: arrow keys move, Enter chooses, Esc closes and gives the focus back.

import { element } from "./element.js";

let open = null;

// `items` are {label, detail, isChosen, action}.
export function openMenu(anchor, label, items) {
  closeMenu();
  const menu = element("div", "menu");
  menu.setAttribute("role", "menu");
  menu.setAttribute("aria-label", label);
  menu.append(...items.map(itemNode));
  document.body.append(menu);
  place(menu, anchor);
  anchor.setAttribute("aria-expanded", "true");
  open = { menu, anchor };
  menu.addEventListener("keydown", onKey);
  (menu.querySelector("[aria-checked=true]") ?? menu.firstChild)?.focus();
}

export function closeMenu({ focus = false } = {}) {
  if (!open) return false;
  const { menu, anchor } = open;
  open = null;
  menu.remove();
  anchor.setAttribute("aria-expanded", "false");
  if (focus) anchor.focus();
  return true;
}

function itemNode({ label, detail = "", isChosen = null, action }) {
  const item = element("button", "menu-item");
  item.type = "button";
  item.setAttribute("role", isChosen === null ? "menuitem" : "menuitemradio");
  if (isChosen !== null) item.setAttribute("aria-checked", String(isChosen));
  item.tabIndex = -1;
  item.append(element("span", "menu-label", label));
  if (detail) item.append(element("span", "menu-detail", detail));
  item.addEventListener("click", () => {
    closeMenu({ focus: true });
    action();
  });
  return item;
}

// The policy allows no styles in markup; the page's own script may set them.
function place(menu, anchor) {
  const at = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = menu;
  const left = Math.max(8, Math.min(at.left, innerWidth - width - 8));
  const isBelow = at.bottom + height + 12 < innerHeight || at.top < height + 12;
  menu.style.left = `${left}px`;
  menu.style.top = `${isBelow ? Math.min(at.bottom + 4, innerHeight - height - 8) : at.top - height - 4}px`;
}

function onKey(event) {
  const items = [...open.menu.children];
  const at = items.indexOf(document.activeElement);
  const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 };
  if (event.key in steps) {
    event.preventDefault();
    items.at(steps[event.key] % items.length)?.focus();
  } else if (event.key === "Escape" || event.key === "Tab") {
    event.preventDefault();
    event.stopPropagation();
    closeMenu({ focus: true });
  }
}

addEventListener("pointerdown", (event) => {
  if (open && !open.menu.contains(event.target) && !open.anchor.contains(event.target)) closeMenu();
});
