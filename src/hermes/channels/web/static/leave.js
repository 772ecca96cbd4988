// The page of somebody who is signed in without conversations: its only button signs them out.

import { signOut } from "./api.js";

document.getElementById("leave").addEventListener("click", async () => {
  const problem = document.getElementById("problem");
  problem.textContent = "";
  try {
    await signOut();
    location.replace("/");
  } catch (error) {
    problem.textContent =
      error instanceof TypeError ? "Cannot reach the server. Try again." : error.message;
  }
});
