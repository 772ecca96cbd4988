// Choosing a model: for the conversation, and for another answer.

import { getMenu } from "./api.js";
import { announce, find } from "./page.js";
import { openMenu } from "./popup.js";
import { say } from "./strings.js";

// `choose` takes the name of a model, or "auto".
export async function chooseModel(anchor, title, choose, { hasAuto }) {
  const menu = await getMenu().catch(() => null);
  if (!menu?.models.length) {
    announce(say("models.none"));
    return;
  }
  const items = menu.models.map((name) => ({ label: name, action: () => choose(name) }));
  const auto = { label: say("models.auto"), action: () => choose("auto") };
  openMenu(anchor, title, hasAuto ? [auto, ...items] : items);
}

export function setUpModels(use) {
  const chip = find("model");
  chip.setAttribute("aria-haspopup", "menu");
  chip.title = say("models.title");
  chip.addEventListener("click", () => chooseModel(chip, say("models.title"), use, { hasAuto: true }));
}
