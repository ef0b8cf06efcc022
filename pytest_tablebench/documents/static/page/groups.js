// Groups: cases with an equal value, which can be folded into one row.
const { byId, declare, plain, set } = page;
const groups = new Map();
let open = new Set(), last = "";

// A group: cases with the same `of(i)`. `fold(i)` returns the text after its first case; with it,
// a single case is not a group.
const group = (key, label, of, { name, fold } = {}) => groups.set(key, { label, of, name: name ?? ((i) => String(of(i) ?? "none")), fold });
const wanted = () => page.state.group || (groups.has("repeats") ? "repeats" : "");
// Rows of the list: numbers of cases, and groups.
const rows = (visible) => {
  const one = groups.get(wanted());
  if (last !== wanted()) { open = new Set(); last = wanted(); }
  if (!one) return visible;
  const found = new Map();
  for (const i of visible) {
    const value = one.of(i);
    if (found.has(value)) found.get(value).push(i); else found.set(value, [i]);
  }
  const out = [];
  for (const [value, cases] of found) {
    if (one.fold && cases.length === 1) { out.push(cases[0]); continue; }
    out.push({ value, cases, fold: one.fold, name: one.name(cases[0]), open: open.has(value) });
    if (open.has(value)) for (const i of cases) out.push(i);
  }
  return out;
};
const toggle = ({ value }) => { if (!open.delete(value)) open.add(value); };
const counts = (cases) => {
  const n = [0, 0, 0, 0];
  for (const i of cases) n[page.columns.outcome[i]] += 1;
  return n;
};
declare("group");
page.ready(() => {
  const { data, columns: of } = page, box = byId("group");
  const axes = page.AXES.map((axis) => axis.name);
  const alike = (i) => ["example", ...axes, "model"].map((axis) => of[axis]?.[i]).join("/");
  if (of.repeat.some((repeat) => repeat > 1)) group("repeats", "repeats of a case", alike, { fold: (i) => page.how(i, false) });
  group("answers", "equal answers to an example", (i) => of.example[i] + "/" + of.outcome[i] + "/" + of.answer_number[i],
    { fold: (i) => "answer " + (of.answer_number[i] + 1) + ": " + (of.answer[i] || "none") });
  group("id", "example", (i) => of.example[i], { name: (i) => page.columnsOf().get("id").value(i) });
  group("dataset", "dataset", (i) => page.exampleOf(i).dataset, { name: (i) => data.names.dataset[page.exampleOf(i).dataset] });
  for (const [key, { label, value }] of page.columnsOf()) {
    if (axes.includes(key) || /^(model|outcome|reason|tag:.*|part:.*|before)$/.test(key)) group(key, label.toLowerCase(), value);
  }
  box.append(new Option(groups.has("repeats") ? "repeats of a case (default)" : "nothing", ""));
  if (groups.has("repeats")) box.append(new Option("nothing", "none"));
  for (const [key, { label }] of groups) if (key !== "repeats") box.append(new Option(plain(label), key));
  box.addEventListener("change", () => set({ group: box.value }));
  page.watch(["group"], () => { box.value = page.state.group; page.redraw(); });
  box.value = page.state.group;
});
Object.assign(page, { counts, group, rows, toggle });
