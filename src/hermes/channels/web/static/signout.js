// Signs this browser out and returns to the sign-in page.

const button = document.getElementById("sign-out");
const problem = document.getElementById("sign-out-problem");

async function signOut() {
  const answer = await fetch("/signout", { method: "POST", cache: "no-store" });
  // 401: the session had ended already.
  if (!answer.ok && answer.status !== 401) {
    const body = await answer.json().catch(() => null);
    throw new Error(body?.error?.message ?? `The server answered ${answer.status}.`);
  }
  location.replace("/");
}

button.addEventListener("click", () => {
  problem.textContent = "";
  signOut().catch((error) => {
    problem.textContent =
      error instanceof TypeError ? "The server cannot be reached. Try again." : error.message;
  });
});
