// The search: all texts of the page in lower case, joined into one string for each block.
const { block, count, declare } = page;
const ROOM = 180e6;  // characters in memory; the page reports texts beyond that
const END = "\u0000";
const pools = { c: [], x: [], d: [], t: [], q: [] };  // texts by case (c), by example (x), and by place in a block
let total = 0, done = 0, left = 0, room = ROOM, started = false, whenRead = () => {};
const found = new Map();

// A part of a pool: joined texts, the start of each, and the number of the first.
const part = (texts, first) => {
  const starts = new Uint32Array(texts.length);
  const lower = texts.map((text) => text.toLowerCase().replaceAll(END, " "));
  let at = 0;
  lower.forEach((text, n) => { starts[n] = at; at += text.length + 1; });
  return { text: lower.join(END), starts, first };
};
const marked = (size, parts, word) => {
  const marks = new Uint8Array(size);
  for (const one of parts) mark(marks, one, word);
  return marks;
};
const mark = (marks, { text, starts, first }, word) => {
  let n = 0;
  for (let at = text.indexOf(word); at >= 0; at = n < starts.length ? text.indexOf(word, starts[n]) : -1) {
    let low = n, high = starts.length;  // the last text that begins at or before the hit
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle] <= at) low = middle; else high = middle;
    }
    marks[first + low] = 1;
    n = low + 1;
  }
};
const sizes = () => ({ c: page.data.count, x: page.data.examples.length,
  d: page.data.count, t: most(page.columns.table) + 1, q: Math.max(most(page.columns.prompt), most(page.columns.transcript)) + 1 });
const most = (column) => column.reduce((a, b) => Math.max(a, b), -1);

// All texts inside a value of a block, without the names of its fields.
const flat = (value, out = []) => {
  if (typeof value === "string") out.push(value);
  else if (value && typeof value === "object") for (const inner of Object.values(value)) flat(inner, out);
  return out;
};
// The texts to search, by kind of block.
const KINDS = {
  d: { kind: "details", texts: (detail) => [...flat(detail), ...Object.keys(detail.parts)] },
  t: { kind: "tables", texts: ({ question, tables }) => [question, ...flat(tables.map(shownTexts))] },
  q: { kind: "prompts", texts: ({ text, turns }) => turns ? turns.map((turn) => turn.text) : [text] },
};
const shownTexts = ({ title, header, rows, lines }) => [title, header, rows, (lines ?? []).map((line) => line.cells)];
const readBlock = async (name) => {
  const values = await block(name, false), letter = name[0], { kind, texts: textsOf } = KINDS[letter];
  const texts = values.map((value) => textsOf(value).join("\n"));
  const one = part(texts, Number(name.slice(1)) * page.data.sizes[kind]);
  if (one.text.length > room) { left += values.length; return; }
  room -= one.text.length;
  pools[letter].push(one);
  for (const [word, marks] of found) mark(marks[letter], one, word);
};
const idle = () => new Promise((go) => (window.requestIdleCallback ?? setTimeout)(go, { timeout: 60 }));
// Reads all blocks: when the page is idle, or as soon as the user types.
const readAll = async () => {
  if (started) return;
  started = true;
  const order = Object.keys(KINDS).join("");
  const names = [...document.querySelectorAll("script[id^='b-']")].map((node) => node.id.slice(2)).filter((name) => /^[dtq]\d+$/.test(name));
  names.sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]) || Number(a.slice(1)) - Number(b.slice(1)));
  total = names.length;
  let last = performance.now();
  for (const name of names) {
    await idle();
    await readBlock(name);
    done += 1;
    if (performance.now() - last > 400 || done === total) { last = performance.now(); whenRead(); }
  }
  document.documentElement.dataset.searched = String(done);
};

// Words of a query. A quoted phrase is one word; a pasted node id counts as the part in brackets.
const words = (query) => [...query.toLowerCase().matchAll(/"([^"]+)"|(\S+)/g)].map(([, phrase, word]) => {
  if (phrase) return phrase;
  const inside = /^(?:\S*::)?\w+\[(.+?)\]?$/.exec(word);
  return inside && (word.includes("::") || word.startsWith("test")) ? inside[1] : word;
});
const marksOf = (word) => {
  if (!found.has(word)) {
    const size = sizes();
    found.set(word, Object.fromEntries(Object.keys(pools).map((key) => [key, marked(size[key], pools[key], word)])));
    if (found.size > 12) found.delete(found.keys().next().value);
  }
  return found.get(word);
};
// The longest word first: if it matches no case, the others need no search.
const test = (query) => {
  const { example, table, prompt, transcript } = page.columns, hits = new Uint8Array(page.data.count).fill(1);
  for (const word of words(query).sort((a, b) => b.length - a.length)) {
    const m = marksOf(word);
    let any = 0;
    for (let i = 0; i < hits.length; i++) {
      any |= hits[i] &= m.c[i] | m.x[example[i]] | m.d[i] | (m.t[table[i]] ?? 0) | (m.q[prompt[i]] ?? 0) | (m.q[transcript[i]] ?? 0);
    }
    if (!any) break;
  }
  return (i) => hits[i] === 1;
};
const state = () => {
  if (done < total || !started) return "Replies and prompts are still being read: " + (total ? Math.floor(100 * done / total) : 0) + " %.";
  const cut = page.data.facts.unsearched ?? [];
  const parts = [...cut, ...(left ? [count(left) + " long texts did not fit into memory"] : [])];
  return parts.length ? "The search does not cover everything: " + parts.join("; ") + "." : "";
};
declare("q");
page.ready(() => {
  const { data, columns } = page, { names } = data;
  pools.x.push(part(data.examples.map(({ dataset, id, question, references }) => [names.dataset[dataset] + "/" + id, question, references].join("\n")), 0));
  pools.c.push(part(columns.id.map((id, i) => [id, page.nodeOf(i), names.serializer[columns.serializer[i]] + "/" + names.perturbation[columns.perturbation[i]],
    columns.answer[i], columns.reason[i] >= 0 ? data.reasons[columns.reason[i]] : ""].join("\n")), 0));
});
Object.assign(page, {
  // The part of pytest's node id in brackets, unless it was shortened.
  nodeOf: (i) => page.columns.node?.[i] || page.columns.id[i].split("/").slice(1).join("-"),
  searches: { test, readAll, state, whenRead: (act) => { whenRead = act; } },
});
