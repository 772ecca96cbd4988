// Cards under a reply: a question or an approval that waits, an answer that failed or was cut off.

import { storyOf } from "./view.js";

const TODAY = { hour: "2-digit", minute: "2-digit" };
const LATER = { ...TODAY, weekday: "short", day: "numeric", month: "short" };

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

// A tool asks and waits: the person's next message is the answer.
export function showQuestion(view, asked, decline) {
  view.clear("asked-card");
  view.card("asked-card question-card", {
    title: "A question",
    text: asked,
    buttons: [["Decline", decline]],
  });
}

export function showNotice(view, text) {
  view.card("notice-card", { text, buttons: [] });
}

// An answer that was cut off says so at its end: only what can be done is added.
export function showFailure(view, turn, retry) {
  const actions = { buttons: [["Try again", retry]], link: ["Why?", storyOf(turn.id)] };
  if (turn.partial) view.card("cut-card", actions);
  else {
    view.card("problem-card", {
      title: "That did not work",
      text: turn.reply,
      note: turn.reason ? `Reason: ${turn.reason}` : "No reason was given.",
      id: turn.id,
      ...actions,
    });
  }
}

// A request failed before Hermes had an answer.
export function showProblem(view, title, text, again) {
  view.settle();
  view.card("problem-card", { title, text, buttons: [["Try again", again]] });
}
