// Text that was not sent when this browser was signed out. It stays in this tab until the
// next sign-in.

const UNSENT = "unsent";
const SIGNED_OUT = "signed-out";
const USER = "user";

// Who is signed in in this tab: what they wrote is not put before somebody else.
export const knowUser = (user) => sessionStorage.setItem(USER, user);

export function keepUnsentOf(user) {
  if (sessionStorage.getItem(USER) !== user) dropUnsent();
}

export function noteSignOut() {
  sessionStorage.setItem(SIGNED_OUT, "yes");
}

export const wasSignedOut = () => sessionStorage.getItem(SIGNED_OUT) !== null;

export function keepUnsent(conversation, text) {
  sessionStorage.setItem(UNSENT, JSON.stringify({ conversation, text }));
}

export const hasUnsent = () => sessionStorage.getItem(UNSENT) !== null;

export function dropUnsent() {
  sessionStorage.removeItem(UNSENT);
}

// Returns {conversation, text} once, or null.
export function takeUnsent() {
  const kept = sessionStorage.getItem(UNSENT);
  sessionStorage.removeItem(SIGNED_OUT);
  dropUnsent();
  return kept === null ? null : JSON.parse(kept);
}
