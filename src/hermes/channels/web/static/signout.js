// Asks once, signs this browser out and returns to the sign-in page.

import { dropUnsent, noteSignOut } from "./unsent.js";

const find = (id) => document.getElementById(id);
const dialog = find("sign-out-dialog");
const problem = find("sign-out-problem");

async function signOut() {
  const answer = await fetch("/signout", { method: "POST", cache: "no-store" });
  // 401: the session had ended already.
  if (!answer.ok && answer.status !== 401) {
    const body = await answer.json().catch(() => null);
    throw new Error(body?.error?.message ?? `The server answered ${answer.status}.`);
  }
  dropUnsent();
  noteSignOut();
  location.replace("/");
}

find("sign-out").addEventListener("click", () => {
  problem.textContent = "";
  dialog.showModal();
});

find("sign-out-no").addEventListener("click", () => dialog.close());

find("sign-out-yes").addEventListener("click", () => {
  problem.textContent = "";
  signOut().catch((error) => {
    problem.textContent =
      error instanceof TypeError ? "Cannot reach the server. Try again." : error.message;
  });
});

// The page's own keys, such as Esc for "stop", are off while the dialog is open.
dialog.addEventListener("keydown", (event) => event.stopPropagation());
