// The list: only rows in view are in the document.
const { byId, make, OUTCOMES, WORDS, write } = page;
const ROW = 56, MARKS = ["✓", "✕", "–"];
const SEARCHED = " The search looks at ids, configurations, reasons and the beginnings of questions, references and answers as they were read; whole texts are in the run folder.";
const list = byId("list"), spacer = byId("spacer"), drawn = new Map();
let active = -1;

const redraw = () => {
  active = page.visible.length ? 0 : -1;
  list.scrollTop = 0;
  spacer.style.height = page.visible.length * ROW + "px";
  drawn.clear();
  spacer.replaceChildren();
  draw();
};
const draw = () => {
  const { visible } = page;
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 6);
  const last = Math.min(visible.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 6);
  for (const [place, node] of drawn) {
    if (place < first || place >= last) { node.remove(); drawn.delete(place); }
  }
  for (let place = first; place < last; place++) {
    if (!drawn.has(place)) {
      const node = row(place);
      drawn.set(place, node);
      spacer.append(node);
    }
    drawn.get(place).classList.toggle("active", place === active);
    drawn.get(place).setAttribute("aria-selected", String(place === active));
  }
  if (!visible.length && !spacer.firstChild) {
    spacer.append(make("p", "nothing", "No case matches." + (page.state.q.trim() ? SEARCHED : "")));
  }
  if (active >= 0) list.setAttribute("aria-activedescendant", "row-" + active);
  else list.removeAttribute("aria-activedescendant");
};
const row = (place) => {
  const { data, columns, visible } = page;
  const i = visible[place], [d, id, question] = data.examples[columns.e[i]];
  const outcome = columns.o[i];
  const node = make("div", "row");
  node.id = "row-" + place;
  node.dataset.place = place;
  node.style.top = place * ROW + "px";
  node.setAttribute("role", "option");
  node.setAttribute("aria-setsize", visible.length);
  node.setAttribute("aria-posinset", place + 1);
  const dot = make("span", "dot " + OUTCOMES[outcome], MARKS[outcome]);
  dot.setAttribute("role", "img");
  dot.setAttribute("aria-label", WORDS[outcome]);
  const name = make("div", "id");
  name.append(write(make("b"), data.names[0][d] + " / " + id, true), " ");
  const again = columns.n[i] > 1 ? " · r" + columns.n[i] : "";
  const how = data.names[1][columns.s[i]] + " · " + data.names[2][columns.p[i]] + again;
  name.append(write(make("span"), how, true));
  const text = make("div", "text");
  text.append(write(make("bdi"), question.slice(0, 200), true));
  if (columns.a[i]) text.append(question ? " → " : "", write(make("em"), columns.a[i], true));
  const score = make("div", "score", columns.v[i] === null ? "" : columns.v[i].toFixed(2));
  if (columns.r[i] >= 0) score.append(write(make("small"), data.reasons[columns.r[i]], true));
  node.append(dot, name, score, text);
  return node;
};
const move = (place) => {
  if (!page.visible.length) return;
  active = Math.max(0, Math.min(page.visible.length - 1, place));
  const top = active * ROW;
  if (top < list.scrollTop) list.scrollTop = top;
  if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
  draw();
};

list.addEventListener("scroll", draw, { passive: true });
window.addEventListener("resize", draw);
list.addEventListener("click", (event) => {
  const node = event.target.closest(".row");
  if (node) { move(Number(node.dataset.place)); page.open(page.visible[active]); }
});
list.addEventListener("keydown", (event) => {
  const step = Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
  const to = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + step, PageUp: active - step, Home: 0, End: page.visible.length - 1 }[event.key];
  if (to !== undefined) { event.preventDefault(); move(to); }
  if ((event.key === "Enter" || event.key === " ") && active >= 0) { event.preventDefault(); page.open(page.visible[active]); }
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
Object.assign(page, { move, redraw });
