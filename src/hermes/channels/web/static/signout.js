// Asks once, signs this browser out and returns to the sign-in page.

import { signOut } from "./api.js";
import { dropUnsent, noteSignOut } from "./unsent.js";

const find = (id) => document.getElementById(id);
const dialog = find("sign-out-dialog");
const problem = find("sign-out-problem");

async function leave() {
  await signOut();
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
  leave().catch((error) => {
    problem.textContent =
      error instanceof TypeError ? "Cannot reach the server. Try again." : error.message;
  });
});

// The page's own keys, such as Esc for "stop", are off while the dialog is open.
dialog.addEventListener("keydown", (event) => event.stopPropagation());
