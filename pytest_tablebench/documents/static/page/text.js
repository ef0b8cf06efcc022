page.started = performance.now();
// Texts of models and datasets enter the document through text nodes only.
const byId = (id) => document.getElementById(id);
const count = (n) => n.toLocaleString("en-US");
const counted = (n, noun) => count(n) + " " + noun + (n === 1 ? "" : "s");

// Characters that hide, reorder or break text.
const ODD = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;
const code = (c) => "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
const write = (node, text, line) => {
  const value = line ? text.replace(/[\n\t]+/g, " ") : text;
  let last = 0;
  for (const found of value.matchAll(ODD)) {
    if (found.index > last) node.append(value.slice(last, found.index));
    node.append(make("span", "ctl", code(found[0])));
    last = found.index + found[0].length;
  }
  node.append(value.slice(last));
  return node;
};
const make = (tag, name, text) => {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text !== undefined) node.textContent = text;
  return node;
};
const svg = (tag, style, values, text) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  if (style) node.setAttribute("class", style);
  for (const [key, value] of Object.entries(values)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
};
const said = (text, tag = "pre") => {
  const node = write(make(tag, "said"), text);
  node.dir = "auto";
  node.tabIndex = 0;
  return node;
};
// The same as plain text, for options and labels, which cannot contain nodes.
const plain = (text, most = 60) => {
  const line = text.replace(/[\n\t]+/g, " ").replace(ODD, code);
  return line.length > most ? line.slice(0, most - 1) + "…" : line;
};
const card = (title, ...content) => {
  const node = make("section", "card");
  if (title) node.append(make("h3", "", title));
  node.append(...content);
  return node;
};
const full = (node) => { node.classList.add("full"); return node; };
const fact = (label, value) => {
  const node = make("div");
  node.append(make("span", "", label), " ", write(make("b"), String(value), true));
  return node;
};
Object.assign(page, { byId, card, count, counted, fact, full, make, plain, said, svg, write });
