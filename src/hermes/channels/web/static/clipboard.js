// Copies text, and says on the button whether it worked.

import { say } from "./strings.js";

export async function copyText(text, button) {
  let told = "copy.done";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    told = "copy.failed";
  }
  const before = [...button.childNodes];
  button.replaceChildren(say(told));
  setTimeout(() => button.replaceChildren(...before), 1600);
  return told;
}
