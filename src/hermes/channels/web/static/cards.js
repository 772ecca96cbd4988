// Cards under a reply: an approval that waits, and an answer that failed or was cut off.

const TODAY = { hour: "2-digit", minute: "2-digit" };
const LATER = { ...TODAY, weekday: "short", day: "numeric", month: "short" };

export const storyOf = (id) => `/why/${encodeURIComponent(id)}`;

// `decide` takes "/approve" or "/deny".
export function showApproval(view, turn, decide) {
  const waits = turn.waits;
  view.text = waits ? "" : turn.reply ?? view.text;
  view.settle();
  view.card("question-card", {
    title: waits?.by_admins ? "This waits for an admin's answer" : "This waits for your answer",
    text: waits ? `May I run ${waits.tool}?` : "",
    detail: waits?.arguments,
    note: waits ? untilText(waits) : "",
    buttons: [["Approve", () => decide("/approve")], ["Deny", () => decide("/deny")]],
  });
}

function untilText({ expires_at: at }) {
  const until = new Date(at * 1000);
  if (until <= new Date()) return "It has expired and counts as denied.";
  const isToday = until.toDateString() === new Date().toDateString();
  const when = until.toLocaleString("en-GB", isToday ? TODAY : LATER);
  return `It waits until ${when}, then it counts as denied. Writing anything else also denies it.`;
}

// An answer that was cut off is shown as it is, with a note; a failure is a problem.
export function showFailure(view, turn, retry) {
  const more = {
    note: turn.reason ? `Reason: ${turn.reason}` : "No reason was given.",
    buttons: [["Try again", retry]],
    link: ["Why?", storyOf(turn.id)],
    id: turn.id,
  };
  if (turn.partial) view.card("cut-card", { title: "This answer is not complete", ...more });
  else view.card("problem-card", { title: "That did not work", text: turn.reply, ...more });
}
