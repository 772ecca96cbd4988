// The sign-in page: sends a pasted token, and moves on by itself when the browser turns out to
// be signed in already. A strict cookie is not sent when a link on another site led here; this
// page's own request carries it.

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
    problem.textContent = "The server cannot be reached. Is Hermes running?";
  });
  field.select();
});

moveOnIfSignedIn().catch(() => {});
