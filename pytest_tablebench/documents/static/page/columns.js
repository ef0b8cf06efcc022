// Columns: values of each case to show and to sort by.
const { byId, declare, exampleOf, make, OUTCOMES, plain, set, watch } = page;
const columns = new Map();

// A column: `value(i)` is a number, a text or null. Null is sorted last.
const column = (key, label, value, { digits } = {}) => columns.set(key, { label, value, digits });
const shown = (key, i) => {
  const { value, digits } = columns.get(key), found = value(i);
  return found === null || found === undefined ? "–" : typeof found === "number" && digits !== undefined ? found.toFixed(digits) : String(found);
};
const chosen = () => page.state.cols.split(",").filter((key) => columns.has(key));
const sorted = (visible) => {
  const down = page.state.sort.startsWith("-"), one = columns.get(page.state.sort.replace(/^-/, ""));
  if (!one) return;
  // Rank the distinct values first: comparing texts is slow, and most cases repeat a value.
  const values = visible.map((i) => one.value(i) ?? null), order = new Intl.Collator("en", { numeric: true });
  const distinct = [...new Set(values)].filter((value) => value !== null);
  distinct.sort(distinct.every((value) => typeof value === "number") ? (a, b) => a - b : (a, b) => order.compare(String(a), String(b)));
  const rank = new Map(distinct.map((value, n) => [value, down ? -n : n]));
  const ranks = new Float64Array(page.data.count);
  visible.forEach((i, n) => { ranks[i] = rank.get(values[n]) ?? Infinity; });
  visible.sort((a, b) => (ranks[a] === ranks[b] ? a - b : ranks[a] - ranks[b]));
};

const sortBox = byId("sort"), colsBox = byId("cols"), head = byId("head");
const turn = (key) => set({ sort: page.state.sort === key ? "-" + key : page.state.sort === "-" + key ? "" : key });
const drawHead = () => {
  const { sort } = page.state;
  head.replaceChildren(...["id", ...chosen()].map((key) => {
    const one = columns.get(key), node = make("button", key === "id" ? "wide" : key.split(":")[0], plain(one.label, 24));
    const arrow = sort === key ? " ▲" : sort === "-" + key ? " ▼" : "";
    node.type = "button";
    node.append(make("span", "way", arrow));
    node.setAttribute("aria-label", "Sort by " + plain(one.label) + (arrow ? arrow === " ▲" ? ", now rising" : ", now falling" : ""));
    node.addEventListener("click", () => turn(key));
    return node;
  }));
  sortBox.value = sort;
  for (const input of colsBox.querySelectorAll("input")) input.checked = chosen().includes(input.value);
};

declare("sort");
declare("cols", "score");
const named = (axis) => (i) => page.data.names[axis][page.columns[axis][i]];
const plainKey = (name) => name.replaceAll(",", " ");  // commas separate columns
page.ready(() => {
  const { data, columns: of } = page;
  column("id", "Case", (i) => data.names.dataset[exampleOf(i).dataset] + " / " + exampleOf(i).id);
  column("score", "Score", (i) => of.score[i], { digits: 2 });
  column("outcome", "Outcome", (i) => OUTCOMES[of.outcome[i]].replace("_", " "));
  column("reason", "Reason", (i) => of.reason[i] < 0 ? null : data.reasons[of.reason[i]]);
  column("answer", "Answer", (i) => of.answer[i] || null);
  column("expected", "Expected", (i) => exampleOf(i).references || null);
  column("question", "Question", (i) => exampleOf(i).question || null);
  for (const { name, label, in_grid } of [...page.AXES, { name: "model", label: "Model" }]) {
    if (in_grid || data.names[name]?.length > 1) column(name, label, named(name));
  }
  if (of.repeat.some((repeat) => repeat > 1)) column("repeat", "Repeat", (i) => of.repeat[i]);
  column("latency", "Seconds", (i) => of.latency[i], { digits: 2 });
  column("prompt", "Prompt tokens", (i) => of.prompt_tokens[i]);
  column("reply", "Reply tokens", (i) => of.completion_tokens[i]);
  column("cost", "Dollars", (i) => of.cost[i], { digits: 5 });
  data.parts.forEach((name, n) => column("part:" + plainKey(name), name, (i) => of.parts[n][i], { digits: 2 }));
  for (const tag of new Set(data.tags.map(({ name }) => name))) {
    column("tag:" + plainKey(tag), tag, (i) => data.tags[exampleOf(i).tags.find((number) => data.tags[number].name === tag)]?.value ?? null);
  }
  if (of.corrected) {
    column("gold", "By corrected gold", (i) => of.corrected[i] < 0 ? null : page.CORRECTED[of.corrected[i]]);
    column("goldscore", "Score by corrected gold", (i) => of.corrected_score[i], { digits: 2 });
  }
  if (of.outcome_before) {
    column("before", "Outcome before", (i) => of.outcome_before[i] < 0 ? null : OUTCOMES[of.outcome_before[i]].replace("_", " "));
    column("change", "Score change", (i) => of.score[i] === null || of.score_before[i] === null ? null : of.score[i] - of.score_before[i], { digits: 2 });
  }
  sortBox.append(new Option("order of the run", ""));
  for (const [key, { label }] of columns) {
    sortBox.append(new Option(plain(label) + " ▲", key), new Option(plain(label) + " ▼", "-" + key));
    if (key === "id") continue;
    const box = make("label"), input = make("input");
    Object.assign(input, { type: "checkbox", value: key });
    box.append(input, plain(label));
    colsBox.append(box);
  }
  sortBox.addEventListener("change", () => set({ sort: sortBox.value }));
  colsBox.addEventListener("change", () => set({ cols: [...colsBox.querySelectorAll("input:checked")].map((input) => input.value).join(",") }));
  watch(["sort", "cols"], drawHead);
  drawHead();
});
Object.assign(page, { chosen, column, columnsOf: () => columns, sorted, shown });
