// Which cases are shown: filters and search, each a key of the state.
const { byId, count, counted, declare, make, plain, searches, set, watch } = page;
// The axes of cases: name, letter, and whether they are in every grid.
const AXES = JSON.parse(byId("cases").dataset.axes), GRID = AXES.filter((axis) => axis.in_grid), MODES = AXES.filter((axis) => !axis.in_grid);
const OUTCOMES = ["right", "wrong", "no_answer", "scored"];
const WORDS = ["right", "wrong", "no answer", "no verdict"];
const CORRECTED = [...WORDS, "left out"];  // outcomes by the corrected gold
const search = byId("search"), shown = byId("shown");
const filters = new Map();
let ids = new Map(), visible = null;

// A filter: `options()` returns [value, label] or [value, label, group] of the select. Buttons of
// the page (data-KEY) name an option by its place. `test(value)` returns a test of a case's number.
// A filter without options is not shown.
const filter = (key, label, { options, test }) => {
  declare(key);
  filters.set(key, { label, options, test });
};
const build = () => {
  for (const [key, one] of filters) {
    one.values = one.options();
    if (!one.values.length) continue;
    const box = make("label"), select = one.select = make("select");
    select.id = "f-" + key;
    select.append(new Option("all", ""));
    const groups = new Map();
    for (const [value, label, group] of one.values) {
      if (group !== undefined && !groups.has(group)) {
        groups.set(group, make("optgroup"));
        groups.get(group).label = plain(group, 40);
        select.append(groups.get(group));
      }
      (groups.get(group) ?? select).append(new Option(plain(label), value));
    }
    select.addEventListener("change", () => set({ [key]: select.value }));
    box.append(make("span", "", one.label), select);
    byId("filtered").append(box);
  }
};

// Functions to call when `page.visible` changes.
const drawers = [];

const choose = () => {
  const from = performance.now(), { state } = page;
  const tests = [...filters].filter(([key]) => state[key] !== "").map(([key, one]) => one.test(state[key]));
  if (state.q.trim()) { searches.readAll(); tests.push(searches.test(state.q)); }
  const before = visible;
  visible = [];
  for (let i = 0; i < page.data.count; i++) if (tests.every((test) => test(i))) visible.push(i);
  page.sorted(visible);
  if (search.value !== state.q) search.value = state.q;
  for (const [key, one] of filters) if (one.select) one.select.value = state[key];
  byId("chosen").textContent = tests.length - (state.q.trim() ? 1 : 0) || "";
  const of = visible.length === page.data.count ? "" : count(visible.length) + " of ";
  const right = visible.reduce((n, i) => n + (page.columns.outcome[i] === 0), 0);
  shown.textContent = of + counted(page.data.count, "case") + ", " + count(right) + " right";
  byId("searched").textContent = state.q.trim() ? searches.state() : "";
  // Blocks read for the search rarely add a case; without a change the list keeps its place.
  if (before === null || before.length !== visible.length || visible.some((i, n) => i !== before[n])) {
    for (const draw of drawers) draw();
  }
  document.documentElement.dataset.filterMs = (performance.now() - from).toFixed(1);
};
const cleared = () => Object.fromEntries(["q", ...filters.keys()].map((key) => [key, page.usual(key)]));

const wellFormed = (text) => text.toWellFormed ? text.toWellFormed() : text;
const exampleOf = (i) => page.data.examples[page.columns.example[i]];
const named = (axis) => () => page.data.names[axis].map((name) => [name, name]);
// Filters have these letters in addresses, so the letters must not change.
filter("d", "Dataset", { options: named("dataset"), test: (value) => {
  const number = page.data.names.dataset.indexOf(value);
  return (i) => exampleOf(i).dataset === number;
} });
const byAxis = (axis) => (value) => {
  const column = page.columns[axis], number = page.data.names[axis].indexOf(value);
  return (i) => column[i] === number;
};
for (const { name, letter, label } of GRID) filter(letter, label, { options: named(name), test: byAxis(name) });
filter("t", "Tag", {
  options: () => page.data.tags.map(({ name, value }) => [name + "=" + value, value, name]),
  test: (wanted) => {
    const number = page.data.tags.findIndex(({ name, value }) => name + "=" + value === wanted);
    return (i) => exampleOf(i).tags.includes(number);
  },
});
filter("o", "Outcome", {
  options: () => OUTCOMES.map((name, n) => [name, WORDS[n]]),
  test: (value) => (i) => OUTCOMES[page.columns.outcome[i]] === value,
});
for (const { name, letter, label } of [...MODES, { name: "model", letter: "w", label: "Model" }]) {
  filter(letter, label, { options: () => page.data.names[name]?.length > 1 ? named(name)() : [], test: byAxis(name) });
}
const LEVELS = [["whole", "1", (x) => x === 1], ["between", "between 0 and 1", (x) => x > 0 && x < 1],
  ["nothing", "0", (x) => x === 0], ["absent", "absent", (x) => x === null]];
filter("part", "Part", {
  options: () => page.data.parts.flatMap((name, n) => LEVELS.filter(([, , holds]) => page.columns.parts[n].some(holds))
    .map(([level, label]) => [name + "=" + level, name + ": " + label, name])),
  test: (wanted) => {
    const n = page.data.parts.findIndex((name) => wanted.startsWith(name + "=")), holds = LEVELS.find(([level]) => wanted.endsWith("=" + level))?.[2];
    return n < 0 || !holds ? () => false : (i) => holds(page.columns.parts[n][i]);
  },
});
// Marks of `_pack.py`; marks without a case are left out.
const FLIPS = [["mixed", "right and wrong by configuration", 1], ["regressed", "regressed", 2], ["improved", "improved", 4],
  ["unanswered", "newly unanswered", 32], ["answered", "newly answered", 64], ["changed", "changed", 230],
  ["other", "answer changed", 24], ["turned", "verdict flipped", 16]], UNCLEAR = 256;
filter("f", "Flip", {
  options: () => FLIPS.filter(([, , bits]) => page.columns.marks.some((mark) => mark & bits)).map(([name, label]) => [name, label]),
  test: (value) => {
    const bits = FLIPS.find(([name]) => name === value)?.[2] ?? 0;
    return (i) => (page.columns.marks[i] & bits) !== 0;
  },
});
filter("unclear", "Unclear", {
  options: () => page.columns.marks.some((mark) => mark & UNCLEAR) ? [["yes", "no rule decides"]] : [],
  test: () => (i) => (page.columns.marks[i] & UNCLEAR) !== 0,
});
// Without corrections the page has no such column.
const GOLD = [["differs", "verdict differs", (i) => page.columns.corrected[i] < 4 && page.columns.corrected[i] !== page.columns.outcome[i]],
  ["same", "same verdict", (i) => page.columns.corrected[i] === page.columns.outcome[i]], ["out", "left out", (i) => page.columns.corrected[i] === 4]];
const isCorrected = (i) => page.columns.corrected !== undefined && page.columns.corrected[i] >= 0;
filter("gold", "By corrected gold", {
  options: () => page.columns.corrected ? GOLD.map(([name, label]) => [name, label]) : [],
  test: (value) => {
    const holds = GOLD.find(([name]) => name === value)?.[2];
    return (i) => holds !== undefined && isCorrected(i) && holds(i);
  },
});

page.ready(() => {
  ids = new Map(page.columns.id.map((key, i) => [wellFormed(key), i]));
  build();
  watch(["q", "sort", ...filters.keys()], choose);
  searches.whenRead(() => { if (page.state.q.trim()) choose(); });
});
// On a phone the filters would fill the screen, so they are folded.
const wide = matchMedia("(min-width: 641px)"), fold = () => { byId("fold").open = wide.matches; };
wide.addEventListener("change", fold);
fold();
let waiting = 0;
search.addEventListener("input", () => {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => set({ q: search.value }, { replace: true }));
});
search.addEventListener("focus", searches.readAll);
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("clear").addEventListener("click", () => set(cleared()));
// Buttons that filter: <button data-d="0" data-f="worse">.
document.addEventListener("click", (event) => {
  const given = event.target.closest("button")?.dataset ?? {}, wanted = cleared();
  let any = false;
  for (const [key, one] of filters) {
    if (given[key] === undefined) continue;
    wanted[key] = one.values[Number(given[key])]?.[0] ?? given[key];
    any = true;
  }
  if (!any) return;
  set(wanted);
  byId("cases").scrollIntoView();
  byId("list").focus({ preventScroll: true });
});
Object.defineProperty(page, "visible", { get: () => visible });
Object.assign(page, { AXES, CORRECTED, GRID, MODES, OUTCOMES, WORDS, choose, cleared, exampleOf, filter, isCorrected, idOf: (i) => wellFormed(page.columns.id[i]), numberOf: (id) => ids.get(id), whenVisible: (draw) => drawers.push(draw) });
