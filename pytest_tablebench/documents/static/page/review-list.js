// The list: filters, and only the rows in view.
const { byId, count, isDone, entryOf, choicesOf, make, plain, write } = page;
const TALL = 76, MARKS = { right: "✓", wrong: "✕", several: "≥", none: "?", broken: "▦" };
const list = byId("list"), spacer = byId("spacer"), drawn = new Map();
let rows = [], current = -1, texts = [];

const toneOf = (i) => choicesOf(i).find(({ value }) => value === entryOf(i).verdict);
const dot = (i) => {
  const choice = toneOf(i), isLabel = page.data.kind === "labels";
  const node = make("span", "rv-dot" + (choice ? " tone-" + choice.tone : ""), choice ? (isLabel && choice.label.length < 3 ? choice.label : MARKS[choice.tone]) : "");
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", choice ? choice.label : isLabel ? "no label" : "no verdict");
  return node;
};
const line = (name, words) => {
  const node = make("span", "rv-word", name + " ");
  node.append(write(make("em"), words, true));
  return node;
};
const row = (i) => {
  const { columns, data } = page, node = make("div", "rv-row"), title = make("div", "rv-id"), said = make("div", "rv-words");
  title.append(make("span", "rv-rank", count(i + 1)), " ", write(make("bdi"), page.titleOf(i), true));
  if (columns.gold[i]) said.append(line(data.kind === "labels" ? "reference" : "gold", columns.gold[i]));
  if (columns.answer[i] && (!data.blind || data.kind === "labels")) said.append(" ", line(data.kind === "labels" ? "reply" : "models", columns.answer[i]));
  node.append(dot(i), title, write(make("div", "rv-question"), columns.question[i], true), said);
  if (columns.suspicion && !data.blind) {
    const share = make("span", "rv-share h" + Math.round(columns.suspicion[i] * 20), Math.round(columns.suspicion[i] * 100) + " %");
    share.title = "Probability that the gold is wrong";
    node.append(share);
  }
  return node;
};
const draw = () => {
  const first = Math.max(0, Math.floor(list.scrollTop / TALL) - 6);
  const last = Math.min(rows.length, Math.ceil((list.scrollTop + list.clientHeight) / TALL) + 6);
  for (const [place, node] of drawn) if (place < first || place >= last) { node.remove(); drawn.delete(place); }
  for (let place = first; place < last; place++) {
    if (!drawn.has(place)) {
      const node = row(rows[place]);
      node.id = "row-" + place;
      node.dataset.place = place;
      node.style.top = place * TALL + "px";
      node.setAttribute("role", "option");
      node.setAttribute("aria-setsize", rows.length);
      node.setAttribute("aria-posinset", place + 1);
      drawn.set(place, node);
      spacer.append(node);
    }
    const isCurrent = rows[place] === current;
    drawn.get(place).classList.toggle("active", isCurrent);
    drawn.get(place).setAttribute("aria-selected", String(isCurrent));
  }
  const at = rows.indexOf(current);
  if (drawn.has(at)) list.setAttribute("aria-activedescendant", "row-" + at); else list.removeAttribute("aria-activedescendant");
};
const redraw = () => {
  spacer.style.height = rows.length * TALL + "px";
  drawn.clear();
  spacer.replaceChildren();
  if (!rows.length) spacer.append(make("p", "nothing", "Nothing matches the filters."));
  draw();
};
const choose = () => {
  const words = byId("query").value.toLowerCase().split(/\s+/).filter(Boolean);
  const dataset = byId("dataset").value, kind = byId("kind").value, todo = byId("todo").checked, { columns } = page;
  rows = [];
  for (let i = 0; i < page.data.count; i++) {
    if (dataset !== "" && columns.dataset[i] !== Number(dataset)) continue;
    if (kind !== "" && !(columns.kinds[i] >> Number(kind) & 1)) continue;
    if (todo && isDone(i)) continue;
    if (words.every((word) => texts[i].includes(word))) rows.push(i);
  }
  byId("shown").textContent = rows.length === page.data.count ? "" : count(rows.length) + " shown";
  list.scrollTop = 0;
  redraw();
};
const filter = () => { choose(); if (!rows.includes(current) && rows.length) show(rows[0]); else reveal(); };
const reveal = () => {
  const top = rows.indexOf(current) * TALL;
  if (top >= 0 && top < list.scrollTop) list.scrollTop = top;
  if (top + TALL > list.scrollTop + list.clientHeight) list.scrollTop = top + TALL - list.clientHeight;
  draw();
};
const show = (i) => { current = i; reveal(); page.display(i); };
// The place in the list; an item that the filter hides now keeps its order.
const move = (by) => {
  const at = rows.indexOf(current);
  const next = at >= 0 ? rows[at + by] : by > 0 ? rows.find((i) => i > current) : rows.findLast((i) => i < current);
  if (next !== undefined) show(next);
};
const nextTodo = () => {
  const left = rows.filter((i) => i !== current && !isDone(i)), next = left.find((i) => i > current) ?? left[0];
  if (next === undefined) page.say("Every shown " + (page.data.kind === "labels" ? "case has a label." : "example has a verdict.")); else show(next);
};
const options = (id, all, names) => {
  byId(id).replaceChildren(new Option(all, ""), ...names.map((name, n) => new Option(plain(name), n)));
  if (names.length < 2) byId(id).parentElement.hidden = true;
};
page.ready(() => {
  const { columns, data } = page;
  const used = data.kinds.map((name, n) => [name, n]).filter(([, n]) => columns.kinds.some((bits) => bits >> n & 1));
  options("dataset", "all datasets", data.datasets);
  options("kind", "any evidence", []);
  byId("kind").append(...used.map(([name, n]) => new Option(name, n)));
  byId("kind").parentElement.hidden = data.blind || used.length < 2;
  const isHidden = data.blind && data.kind === "audit";
  texts = columns.id.map((id, i) => [data.datasets[columns.dataset[i]], id, columns.question[i], columns.gold[i], isHidden ? "" : columns.answer[i]].join("\n").toLowerCase());
  choose();
});
page.changes.push((i) => {
  const at = rows.indexOf(i);
  if (drawn.has(at)) drawn.get(at).querySelector(".rv-dot").replaceWith(dot(i));
});
for (const id of ["query", "dataset", "kind", "todo"]) byId(id).addEventListener("input", filter);
byId("query").addEventListener("keydown", (event) => {
  if (event.key === "Enter" || event.key === "ArrowDown") { event.preventDefault(); list.focus(); }
});
list.addEventListener("scroll", draw, { passive: true });
window.addEventListener("resize", draw);
list.addEventListener("click", (event) => {
  const node = event.target.closest(".rv-row");
  if (node) { show(rows[Number(node.dataset.place)]); page.close(); }
});
list.addEventListener("keydown", (event) => {
  const at = rows.indexOf(current), step = Math.max(1, Math.floor(list.clientHeight / TALL) - 1);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + step, PageUp: at - step, Home: 0, End: rows.length - 1 }[event.key];
  if (to !== undefined && rows.length) { event.preventDefault(); show(rows[Math.max(0, Math.min(rows.length - 1, to))]); }
  if (event.key === "Enter") { page.close(); byId("item").focus(); }
});
Object.defineProperty(page, "current", { get: () => current });
Object.assign(page, { choose, move, nextTodo, placeOf: () => [rows.indexOf(current), rows.length], redraw, reveal, show, first: () => rows[0] });
