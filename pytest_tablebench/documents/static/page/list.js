// The list: the document has only the rows in view.
const { byId, count, counted, make, OUTCOMES, WORDS, write } = page;
const MARKS = ["✓", "✕", "–", "·"];
const list = byId("list"), spacer = byId("spacer"), drawn = new Map(), phone = matchMedia("(max-width:640px)");
// Characters in a line on a phone; wide ones, such as Chinese, count as two.
const SIGNS = 26, wide = (text) => [...text].reduce((sum, sign) => sum + (sign > "\u2e7f" ? 2 : 1), 0);
const widest = (texts) => texts.reduce((most, text) => Math.max(most, wide(text)), 0);
const GRID = page.GRID.map((axis) => axis.name), MODES = [...page.MODES.map((axis) => axis.name), "model"];
let rows = [], active = -1, names = {}, tall = 56;

// Names cut in the middle, since they differ at both ends, and numbered if the cut makes them equal.
const shorten = (texts, most) => {
  const seen = new Map();
  return texts.map((text) => {
    const signs = [...text], half = Math.floor((most - 1) / 2);
    const short = signs.length > most ? signs.slice(0, half).join("") + "…" + signs.slice(-half).join("") : text;
    const n = (seen.get(short) ?? 0) + 1;
    seen.set(short, n);
    return n > 1 ? short + " #" + n : short;
  });
};
const prepare = () => {
  const { data } = page, [id, most] = phone.matches ? [26, 18] : [56, 32], examples = new Map();
  data.examples.forEach((example, n) => examples.set(example.dataset, [...(examples.get(example.dataset) ?? []), [n, example.id]]));
  names = { example: [], dataset: shorten(data.names.dataset, most) };
  for (const entries of examples.values()) shorten(entries.map(([, name]) => name), id).forEach((name, n) => { names.example[entries[n][0]] = name; });
  for (const axis of [...GRID, ...MODES]) names[axis] = shorten(data.names[axis] ?? [], most);
  const shownAxes = [...GRID, ...MODES].filter((axis) => GRID.includes(axis) || names[axis].length > 1);
  const lines = (signs) => Math.ceil(signs / SIGNS);
  const rest = shownAxes.reduce((sum, key) => sum + 3 + widest(names[key]), (page.columns.repeat.some((repeat) => repeat > 1) ? 4 : 0) + (page.columns.corrected ? 3 : 0));
  tall = phone.matches ? 55 + 19 * lines(widest(names.dataset) + 3 + widest(names.example)) + 17 * lines(rest) : 56;
};
const how = (i, again = true) => {
  const { data, columns: of } = page, axes = [...GRID, ...MODES.filter((axis) => data.names[axis]?.length > 1)];
  const parts = axes.map((axis) => names[axis][of[axis][i]]);
  if (again && of.repeat[i] > 1) parts.push("r" + of.repeat[i]);
  return parts.join(" · ");
};

const redraw = () => {
  rows = page.rows(page.visible);
  active = rows.length ? 0 : -1;
  list.scrollTop = 0;
  again();
};
const again = () => {
  spacer.style.height = rows.length * tall + "px";
  drawn.clear();
  spacer.replaceChildren();
  draw();
};
const draw = () => {
  const first = Math.max(0, Math.floor(list.scrollTop / tall) - 6);
  const last = Math.min(rows.length, Math.ceil((list.scrollTop + list.clientHeight) / tall) + 6);
  for (const [place, node] of drawn) {
    if (place < first || place >= last) { node.remove(); drawn.delete(place); }
  }
  for (let place = first; place < last; place++) {
    if (!drawn.has(place)) {
      const node = typeof rows[place] === "number" ? row(rows[place]) : heading(rows[place]);
      node.id = "row-" + place;
      node.dataset.place = place;
      node.style.top = place * tall + "px";
      node.style.height = tall + "px";
      node.setAttribute("role", "option");
      node.setAttribute("aria-setsize", rows.length);
      node.setAttribute("aria-posinset", place + 1);
      drawn.set(place, node);
      spacer.append(node);
    }
    drawn.get(place).classList.toggle("active", place === active);
    drawn.get(place).setAttribute("aria-selected", String(place === active));
  }
  if (!rows.length && !spacer.firstChild) spacer.append(make("p", "nothing", "No case matches."));
  if (active >= 0) list.setAttribute("aria-activedescendant", "row-" + active);
  else list.removeAttribute("aria-activedescendant");
};
const dotOf = (outcome) => {
  const dot = make("span", "dot " + OUTCOMES[outcome], MARKS[outcome]);
  dot.setAttribute("role", "img");
  dot.setAttribute("aria-label", WORDS[outcome]);
  return dot;
};
const titled = (i, rest) => {
  const name = make("div", "id"), number = page.columns.example[i];
  name.append(write(make("span", "of"), names.dataset[page.exampleOf(i).dataset] + " / ", true), write(make("b"), names.example[number], true), " ");
  name.append(write(make("span", "how"), rest, true));
  return name;
};
const texts = (i) => {
  const { question, references: expected } = page.exampleOf(i), answer = page.columns.answer[i], text = make("div", "text");
  text.append(write(make("bdi"), question.slice(0, 200), true));
  for (const [name, words] of [["expected", expected], ["got", answer]]) {
    if (!words) continue;
    const side = make("span", "side", name + " ");
    side.append(write(make("em"), words, true));
    text.append(" ", side);
  }
  return text;
};
const cells = (inside) => {
  const node = make("div", "cells");
  node.append(...page.chosen().map((key) => inside(key)));
  return node;
};
const goldMark = (i) => {
  const outcome = page.columns.corrected[i], node = make("span", "how", " ✎" + (MARKS[outcome] ?? "∅"));
  node.setAttribute("role", "img");
  node.title = "by corrected gold: " + page.CORRECTED[outcome];
  node.setAttribute("aria-label", node.title);
  return node;
};
const row = (i) => {
  const node = make("div", "row"), { data, columns } = page, title = titled(i, how(i));
  if (page.isCorrected(i)) title.append(goldMark(i));
  node.append(dotOf(columns.outcome[i]), title, texts(i), cells((key) => {
    const cell = write(make("span", "cell " + key.split(":")[0]), page.shown(key, i), true);
    if (key === "score" && columns.reason[i] >= 0) cell.replaceChildren(write(make("small"), data.reasons[columns.reason[i]], true));
    return cell;
  }));
  return node;
};
const heading = ({ cases, name, fold, open: isOpen }) => {
  const node = make("div", "row group" + (isOpen ? " open" : "")), [right, wrong, none, scored] = page.counts(cases), i = cases[0];
  const sums = [count(right) + " right", ...(wrong ? [count(wrong) + " wrong"] : []), ...(none ? [count(none) + " no answer"] : []), ...(scored ? [count(scored) + " no verdict"] : [])].join(", ");
  const mark = make("span", "fold", isOpen ? "▾" : "▸");
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", isOpen ? "open group" : "folded group");
  const title = fold ? titled(i, fold(i)) : write(make("div", "id"), "", true);
  if (!fold) title.append(write(make("b"), name, true));
  const text = fold ? texts(i) : make("div", "text");
  const head = make("span", "sums");
  head.append(make("b", "times", fold ? "×" + count(cases.length) + " " : counted(cases.length, "case") + " "), sums);
  text.prepend(head, " ");
  node.append(mark, title, text, cells((key) => {
    const found = cases.map((one) => page.columnsOf().get(key).value(one)), numbers = found.filter((value) => typeof value === "number");
    const mean = numbers.length && key !== "repeat" ? numbers.reduce((a, b) => a + b, 0) / numbers.length : null;
    return make("span", "cell " + key.split(":")[0], mean === null ? "" : "⌀ " + mean.toFixed(2));
  }));
  return node;
};
const move = (place) => {
  if (!rows.length) return;
  active = Math.max(0, Math.min(rows.length - 1, place));
  const top = active * tall;
  if (top < list.scrollTop) list.scrollTop = top;
  if (top + tall > list.scrollTop + list.clientHeight) list.scrollTop = top + tall - list.clientHeight;
  draw();
};
// Go to the row of a case, or of the group that contains it.
const reveal = (i) => {
  const place = rows.indexOf(i);
  move(place >= 0 ? place : rows.findIndex((one) => typeof one !== "number" && one.cases.includes(i)));
};
const enter = () => {
  const one = rows[active];
  if (typeof one === "number") { page.open(one); return; }
  page.toggle(one);
  rows = page.rows(page.visible);
  again();
};

page.ready(() => {
  prepare();
  page.whenVisible(redraw);
  page.watch(["cols"], again);
});
phone.addEventListener("change", () => { prepare(); again(); });
list.addEventListener("scroll", draw, { passive: true });
window.addEventListener("resize", draw);
list.addEventListener("click", (event) => {
  const node = event.target.closest(".row");
  if (node) { move(Number(node.dataset.place)); enter(); }
});
list.addEventListener("keydown", (event) => {
  const step = Math.max(1, Math.floor(list.clientHeight / tall) - 1);
  const to = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + step, PageUp: active - step, Home: 0, End: rows.length - 1 }[event.key];
  if (to !== undefined) { event.preventDefault(); move(to); }
  if ((event.key === "Enter" || event.key === " ") && active >= 0) { event.preventDefault(); enter(); }
});
const search = byId("search");
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter" || event.key === "ArrowDown") { event.preventDefault(); list.focus(); }
  if (event.key === "Escape") { event.preventDefault(); page.set({ q: "" }); list.focus(); }
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.key !== "/" || byId("case").open) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  event.preventDefault();
  search.focus();
  search.select();
});
Object.assign(page, { how, redraw, reveal });
