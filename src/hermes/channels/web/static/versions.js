// Versions of a conversation: a message that replaces an earlier one begins another, and the page can
// show each of them. What models see is the newest; the others are only shown.

import { element } from "./element.js";
import { iconButton } from "./icons.js";
import { say } from "./strings.js";

// Exchanges of which nothing came take the place of nothing.
const COUNT_NOT = new Set(["refused", "expired"]);

// Groups exchanges, oldest first: `fork` of each lists its versions, and `tails` what was said after
// an older one. Returns the newest path.
function grow(exchanges) {
  const path = [];
  for (const one of exchanges) {
    one.fork = { versions: [one], tails: new Map() };
    const replaces = COUNT_NOT.has(one.outcome) ? "" : one.replaces;
    const place = replaces ? path.findIndex(({ id }) => id === replaces) : -1;
    if (place >= 0) {
      const tail = path.splice(place);
      one.fork = tail[0].fork;
      one.fork.tails.set(tail[0], tail);
      one.fork.versions.push(one);
    }
    path.push(one);
  }
  return path;
}

export class Versions {
  constructor() {
    this.chosen = new Map();
  }

  // Shows what is chosen of the exchanges and hides the rest; returns whether it is the newest.
  apply(exchanges) {
    const newest = new Set(grow(exchanges));
    const visible = new Set();
    this.walk([...newest], visible, null);
    for (const one of exchanges) {
      one.node.hidden = !visible.has(one);
      one.setOld(!newest.has(one));
      one.showVersions(this.bar(one, exchanges));
    }
    return [...visible].every((one) => newest.has(one));
  }

  walk(list, visible, first) {
    for (const one of list) {
      const { versions, tails } = one.fork;
      const wanted = this.chosen.get(versions[0]) ?? versions.at(-1);
      if (one !== first && wanted !== one && tails.has(wanted)) {
        this.walk(tails.get(wanted), visible, wanted);
        return;
      }
      visible.add(one);
    }
  }

  bar(one, exchanges) {
    const { versions } = one.fork;
    if (versions.length < 2) return null;
    const place = versions.indexOf(one);
    const bar = element("div", "versions");
    const go = (step) => () => this.choose(versions[0], versions[place + step], exchanges, step);
    const back = iconButton("back", say("versions.back"), go(-1));
    const forward = iconButton("forward", say("versions.forward"), go(1));
    back.disabled = place === 0;
    forward.disabled = place === versions.length - 1;
    const count = element("span", "", say("versions.count", { at: place + 1, of: versions.length }));
    bar.append(back, count, forward);
    return bar;
  }

  choose(root, version, exchanges, step) {
    this.chosen.set(root, version);
    this.onChoose(exchanges);
    const buttons = version.node.querySelectorAll(".versions button");
    const next = buttons[step < 0 ? 0 : 1];
    (next.disabled ? buttons[step < 0 ? 1 : 0] : next).focus({ preventScroll: true });
  }

  showNewest() {
    this.chosen.clear();
  }
}
