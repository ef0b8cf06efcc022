// Two runs compared: a point for each dataset, serializer, perturbation or tag. Selecting points,
// by a rectangle or by keys, filters the cases.
const { byId, counted, declare, make, plain, set, svg, watch, write } = page;
const KINDS = [["dataset", "dataset"], ["serializer", "serializer"], ["perturbation", "perturbation"], ["tag", "tag"]];
const SIDE = 400, LEFT = 44, TOP = 10, INNER = 340;
const box = byId("scatter");
let picked = new Set(), focused = -1;
// A function, because the cases are filtered before the plot is drawn.
const points = () => page.data.facts.points ?? [];
const x = (value) => LEFT + value * INNER;
const y = (value) => TOP + (1 - value) * INNER;
const number = (value) => value.toFixed(3).replace("-", "−");
const named = ({ kind, dataset, label }) => kind === "dataset" ? dataset : dataset + " · " + label;
const pointText = (point) => {
  const { before, after, difference, examples, better, worse } = point;
  return named(point) + ": " + number(before) + " before, " + number(after) + " after, " + (difference > 0 ? "+" : "") + number(difference)
    + "; " + counted(examples, "example") + ", " + better + " better and " + worse + (worse === 1 ? " case" : " cases") + " worse";
};
const numbers = (text) => text === "" ? [] : text.split(".").map(Number).filter((n) => Number.isInteger(n) && n in points());
const shown = () => [...points().keys()].filter((n) => points()[n].kind === page.state.by);
// The test for a point's cases: its dataset, and its name on its axis.
const cases = ({ kind, dataset, name }) => {
  const { data, columns, exampleOf } = page, number = data.names.dataset.indexOf(dataset);
  const inside = (i) => exampleOf(i).dataset === number;
  if (kind === "dataset") return inside;
  if (kind === "tag") return (i) => inside(i) && exampleOf(i).tags.includes(name);
  const wanted = data.names[kind].indexOf(name);
  return (i) => columns[kind][i] === wanted && inside(i);
};
const choose = (found) => set({ points: [...found].sort((a, b) => a - b).join(".") });
const axes = (root) => {
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    root.append(svg("line", "grid", { x1: x(tick), x2: x(tick), y1: y(0), y2: y(1) }),
      svg("line", "grid", { x1: x(0), x2: x(1), y1: y(tick), y2: y(tick) }),
      svg("text", "tick", { x: x(tick), y: y(0) + 16, "text-anchor": "middle" }, String(tick)),
      svg("text", "tick", { x: x(0) - 6, y: y(tick) + 4, "text-anchor": "end" }, String(tick)));
  }
  root.append(svg("line", "even", { x1: x(0), x2: x(1), y1: y(0), y2: y(1) }),
    svg("text", "tick", { x: x(0.5), y: SIDE - 14, "text-anchor": "middle" }, "performance before"),
    svg("text", "tick", { transform: "translate(12 " + y(0.5) + ") rotate(-90)", "text-anchor": "middle" }, "performance after"));
};
const brush = (root) => {
  let from = null, rect = null;
  const place = (event) => {
    const to = new DOMPoint(event.clientX, event.clientY).matrixTransform(root.getScreenCTM().inverse());
    return [Math.min(x(1), Math.max(x(0), to.x)), Math.min(y(0), Math.max(y(1), to.y))];
  };
  const end = () => { rect?.remove(); from = rect = null; };
  root.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = place(event);
    root.setPointerCapture(event.pointerId);
  });
  root.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = place(event);
    if (!rect) root.append(rect = svg("rect", "brush", {}));
    for (const [key, value] of Object.entries({ x: Math.min(from[0], to[0]), y: Math.min(from[1], to[1]),
      width: Math.abs(from[0] - to[0]), height: Math.abs(from[1] - to[1]) })) rect.setAttribute(key, value);
  });
  root.addEventListener("pointerup", (event) => {
    if (!from) return;
    const to = place(event), reach = rect ? 0 : 9;
    const [left, right, top, bottom] = [Math.min(from[0], to[0]) - reach, Math.max(from[0], to[0]) + reach,
      Math.min(from[1], to[1]) - reach, Math.max(from[1], to[1]) + reach];
    end();
    choose(shown().filter((n) => {
      const [cx, cy] = [x(points()[n].before), y(points()[n].after)];
      return cx >= left && cx <= right && cy >= top && cy <= bottom;
    }));
  });
  root.addEventListener("pointercancel", end);
};
const draw = () => {
  picked = new Set(numbers(page.state.points));
  const order = shown().sort((one, other) => points()[one].before - points()[other].before || points()[one].after - points()[other].after);
  if (!order.includes(focused)) focused = order[0] ?? -1;
  const root = svg("svg", "scatter", { viewBox: "0 0 " + SIDE + " " + SIDE, role: "group",
    "aria-label": "Performance before against after by " + page.state.by + ". Arrows move between points, Space selects, Escape clears." });
  axes(root);
  const nodes = new Map(order.map((n) => {
    const { before, after, difference } = points()[n];
    const trend = difference > 0 ? "rise" : difference < 0 ? "fall" : "still";
    const node = svg("circle", "point " + trend + (picked.has(n) ? " picked" : ""), { cx: x(before), cy: y(after), r: picked.has(n) ? 8 : 6, role: "checkbox",
      "aria-checked": String(picked.has(n)), "aria-label": plain(pointText(points()[n]), 300), tabindex: n === focused ? 0 : -1 });
    node.append(svg("title", "", {}, plain(pointText(points()[n]), 300)));
    node.addEventListener("focus", () => { focused = n; say(); });
    return [n, node];
  }));
  // Selected points are drawn last, above the others.
  root.append(...[...nodes].sort(([a], [b]) => picked.has(a) - picked.has(b)).map(([, node]) => node));
  root.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    const next = order[order.indexOf(focused) + by];
    if (by) event.preventDefault();
    if (next !== undefined) {
      nodes.get(focused)?.setAttribute("tabindex", -1);
      nodes.get(next).setAttribute("tabindex", 0);
      nodes.get(next).focus();
    }
    if (event.key === " " || event.key === "Enter") {
      event.preventDefault();
      const changed = new Set(picked);
      if (!changed.delete(focused)) changed.add(focused);
      choose(changed);
    }
    if (event.key === "Escape") choose([]);
  });
  brush(root);
  const had = byId("plane").contains(document.activeElement);
  byId("plane").replaceChildren(root);
  if (had) nodes.get(focused)?.focus();
  say();
};
const say = () => {
  const here = byId("plane").contains(document.activeElement) ? focused : -1;
  byId("pointed").textContent = here >= 0 ? plain(pointText(points()[here]), 300) : picked.size ? "" : "Draw a rectangle over points to list their cases.";
  byId("picked").replaceChildren(...[...picked].map((n) => write(make("li"), pointText(points()[n]), true)));
  for (const id of ["unpick", "to-cases"]) byId(id).hidden = !picked.size;
};

declare("by", "dataset");
page.filter("points", "Points", {
  options: () => [],
  test: (value) => {
    const tests = numbers(value).map((n) => cases(points()[n]));
    return (i) => tests.some((test) => test(i));
  },
});
page.ready(() => {
  if (!box || !points().length) return;
  const select = byId("by");
  for (const [kind, label] of KINDS) if (points().some((point) => point.kind === kind)) select.append(new Option(label, kind));
  select.addEventListener("change", () => set({ by: select.value, points: "" }));
  byId("unpick").addEventListener("click", () => choose([]));
  byId("to-cases").addEventListener("click", () => {
    byId("cases").scrollIntoView();
    byId("list").focus({ preventScroll: true });
  });
  const show = () => { select.value = page.state.by; draw(); };
  watch(["by", "points"], show);
  show();
  box.hidden = false;
});
