// Follows one message until it is done, across lost connections and reloads. A message sent but
// not confirmed is sent again under the same id: the server keeps it once.

import { getEvents, postMessage, readEvents, ServerError } from "./api.js";

const SILENCE_MS = 45000;
// How much longer files may take on a slow line.
const UPLOAD_MS_PER_BYTE = 0.01;
// A proxy answers these while its server is briefly away; Hermes does not.
const BETWEEN = new Set([502, 504]);
const WAITS_MS = [400, 1000, 2000, 4000, 8000];

export class Turn {
  // `message` is {conversation, text, id} for a new message; `messageId` is one the server has.
  // Callbacks in `on`: accepted, restart, event, failed, link (true while connected), end.
  constructor({ message = null, messageId = null }, on) {
    this.message = message;
    this.messageId = messageId;
    this.on = on;
    this.abort = new AbortController();
    this.tries = 0;
    this.isRunning = true;
  }

  async follow() {
    while (this.isRunning) {
      try {
        await this.readOnce();
        if (this.isRunning) await this.pause();
      } catch (problem) {
        if (!this.isRunning) return;
        if (problem instanceof ServerError && !BETWEEN.has(problem.status)) {
          this.finish();
          this.on.failed(problem);
          return;
        }
        await this.pause();
      }
    }
  }

  leave() {
    this.isRunning = false;
    this.abort.abort();
  }

  async readOnce() {
    const attempt = new AbortController();
    const signal = AbortSignal.any([attempt.signal, this.abort.signal]);
    let timer = setTimeout(() => attempt.abort(), SILENCE_MS + this.uploadMs());
    const stayAwake = () => {
      clearTimeout(timer);
      timer = setTimeout(() => attempt.abort(), SILENCE_MS);
    };
    try {
      const answer = this.messageId
        ? await getEvents(this.messageId, signal)
        : await postMessage(this.message, signal);
      this.on.link(true);
      this.on.restart();
      for await (const { event, data } of readEvents(answer, stayAwake)) {
        this.take(event, data);
        if (!this.isRunning) return;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  uploadMs() {
    const files = this.messageId ? [] : this.message?.files ?? [];
    return files.reduce((sum, { size }) => sum + size, 0) * UPLOAD_MS_PER_BYTE;
  }

  take(event, data) {
    if (event === "accepted") {
      this.messageId = data.id;
      this.on.accepted(data);
      return;
    }
    this.tries = 0;
    if (event === "error") {
      this.finish();
      this.on.failed(new Error(data.message));
    } else if (event === "done" || event === "parked") {
      this.finish();
      this.on.end(event, data);
    } else {
      this.on.event(event, data);
    }
  }

  finish() {
    this.isRunning = false;
    this.on.link(true);
  }

  async pause() {
    this.on.link(false);
    const wait = WAITS_MS[Math.min(this.tries, WAITS_MS.length - 1)];
    this.tries += 1;
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, wait * (0.75 + Math.random() / 2));
      const now = () => {
        clearTimeout(timer);
        resolve();
      };
      addEventListener("online", now, { once: true });
      this.abort.signal.addEventListener("abort", now, { once: true });
    });
  }
}
