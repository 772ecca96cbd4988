// The sign-in page: sends a pasted token, and opens the chat by itself if the browser turns out to
// be signed in already. The browser omits a strict cookie if a link on another site led here; this
// page's own request carries it.

import { hasUnsent, wasSignedOut } from "./unsent.js";

const form = document.getElementById("form");
const problem = document.getElementById("problem");

async function moveOnIfSignedIn() {
  const answer = await fetch("/web/info", { headers: { accept: "application/json" } });
  if (answer.ok) location.replace("/");
}

async function signIn(token) {
  const answer = await fetch("/signin", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
  if (answer.ok) {
    location.replace("/");
    return;
  }
  const body = await answer.json().catch(() => null);
  problem.textContent = body?.error?.message ?? `The server answered ${answer.status}.`;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  problem.textContent = "";
  const field = document.getElementById("token");
  signIn(field.value.trim()).catch(() => {
    problem.textContent = "Cannot reach the server. Is Hermes running?";
  });
  field.select();
});

// Somebody else who knows the person: the browser goes there and comes back.
document.getElementById("provider")?.addEventListener("click", async () => {
  problem.textContent = "";
  try {
    const answer = await fetch("/signin/provider", { method: "POST" });
    const body = await answer.json();
    if (answer.ok) location.assign(body.url);
    else problem.textContent = body.error.message;
  } catch {
    problem.textContent = "Cannot reach the server. Is Hermes running?";
  }
});

// Only the plain sign-in page has these elements; the page of a used link has its own text.
function showSignedOut() {
  const told = document.getElementById("signed-out");
  if (!told || !wasSignedOut()) return;
  document.getElementById("welcome").hidden = true;
  document.getElementById("unsent").hidden = !hasUnsent();
  told.hidden = false;
}

// The link may be opened in another tab.
const moveOn = () => moveOnIfSignedIn().catch(() => {});
addEventListener("focus", moveOn);
showSignedOut();
moveOn();
