// What is known of every case: shown in columns, sorted by, and exported.
const { byId, declare, make, OUTCOMES, plain, set, watch } = page;
const columns = new Map();

// A column: `value(i)` is a number, a text or null. Numbers are sorted as such; null comes last.
const column = (key, label, value, { digits } = {}) => columns.set(key, { label, value, digits });
const shown = (key, i) => {
  const { value, digits } = columns.get(key), found = value(i);
  return found === null || found === undefined ? "–" : typeof found === "number" && digits !== undefined ? found.toFixed(digits) : String(found);
};
const chosen = () => page.state.cols.split(",").filter((key) => columns.has(key));
const sorted = (visible) => {
  const down = page.state.sort.startsWith("-"), one = columns.get(page.state.sort.replace(/^-/, ""));
  if (!one) return;
  // Ranks of different values are compared, not the values: a run says much the same thing often.
  const values = visible.map((i) => one.value(i) ?? null), order = new Intl.Collator("en", { numeric: true });
  const apart = [...new Set(values)].filter((value) => value !== null);
  apart.sort(apart.every((value) => typeof value === "number") ? (a, b) => a - b : (a, b) => order.compare(String(a), String(b)));
  const rank = new Map(apart.map((value, n) => [value, down ? -n : n]));
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
    const way = sort === key ? " ▲" : sort === "-" + key ? " ▼" : "";
    node.type = "button";
    node.append(make("span", "way", way));
    node.setAttribute("aria-label", "Sort by " + plain(one.label) + (way ? way === " ▲" ? ", now rising" : ", now falling" : ""));
    node.addEventListener("click", () => turn(key));
    return node;
  }));
  sortBox.value = sort;
  for (const input of colsBox.querySelectorAll("input")) input.checked = chosen().includes(input.value);
};

declare("sort");
declare("cols", "score");
const named = (axis, key) => (i) => page.data.names[axis][page.columns[key][i]];
const plainKey = (name) => name.replaceAll(",", " ");  // commas stand between columns
const more = (key) => (i) => page.data.more[key][page.columns[key][i]];
const example = (i) => page.data.examples[page.columns.e[i]];
page.ready(() => {
  const { data } = page, c = page.columns;
  column("id", "Case", (i) => data.names[0][example(i)[0]] + " / " + example(i)[1]);
  column("score", "Score", (i) => c.v[i], { digits: 2 });
  column("outcome", "Outcome", (i) => OUTCOMES[c.o[i]].replace("_", " "));
  column("reason", "Reason", (i) => c.r[i] < 0 ? null : data.reasons[c.r[i]]);
  column("answer", "Answer", (i) => c.a[i] || null);
  column("expected", "Expected", (i) => example(i)[3] || null);
  column("question", "Question", (i) => example(i)[2] || null);
  column("serializer", "Serializer", named(1, "s"));
  column("perturbation", "Perturbation", named(2, "p"));
  for (const [key, label] of [["g", "Strategy"], ["m", "Modality"], ["w", "Model"]]) {
    if (data.more[key].length > 1) column(label.toLowerCase(), label, more(key));
  }
  if (c.n.some((n) => n > 1)) column("repeat", "Repeat", (i) => c.n[i]);
  column("latency", "Seconds", (i) => c.l[i], { digits: 2 });
  column("prompt", "Prompt tokens", (i) => c.ti[i]);
  column("reply", "Reply tokens", (i) => c.to[i]);
  column("cost", "Dollars", (i) => c.c[i], { digits: 5 });
  data.parts.forEach((name, n) => column("part:" + plainKey(name), name, (i) => c.y[n][i], { digits: 2 }));
  for (const name of new Set(data.tags.map(([tag]) => tag))) {
    column("tag:" + plainKey(name), name, (i) => data.tags[example(i)[4].find((t) => data.tags[t][0] === name)]?.[1] ?? null);
  }
  if (c.bo) {
    column("before", "Outcome before", (i) => c.bo[i] < 0 ? null : OUTCOMES[c.bo[i]].replace("_", " "));
    column("change", "Score change", (i) => c.v[i] === null || c.bv[i] === null ? null : c.v[i] - c.bv[i], { digits: 2 });
  }
  sortBox.append(new Option("as run", ""));
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
