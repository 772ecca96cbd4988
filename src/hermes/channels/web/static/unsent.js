// Text that was not sent when this browser was signed out. It stays in this tab until the
// next sign-in.

const UNSENT = "unsent";
const SIGNED_OUT = "signed-out";

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
