// Draws Markdown with the page's own scripts on a document of lists; one JSON text a line. The first
// argument is the folder of the scripts.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

class Node {
  constructor(tagName) {
    this.tagName = tagName.toUpperCase();
    this.childNodes = [];
  }
  append(...nodes) {
    this.childNodes.push(...nodes);
  }
  addEventListener() {}
  setAttribute() {}
  set textContent(text) {
    this.childNodes = [text];
  }
  toJSON() {
    return [this.tagName, ...this.childNodes];
  }
}

globalThis.document = { createElement: (name) => new Node(name) };
const { renderInto } = await import(`${pathToFileURL(process.argv[2])}/markdown.js`);

for await (const line of createInterface({ input: process.stdin })) {
  const page = new Node("body");
  renderInto(page, JSON.parse(line));
  console.log(JSON.stringify(page.childNodes));
}
