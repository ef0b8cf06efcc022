// The items, and what was entered about them. This browser stores each entry under the page's id.
const { byId, counted } = page;
const entries = new Map(), others = new Map(), changes = [];
let prefix = "", places = new Map(), isStored = true;
const EMPTY = Object.freeze({ verdict: "", answers: [], notes: "", who: "", when: "" });

const read = (key) => { try { return localStorage.getItem(key); } catch { isStored = false; return null; } };
const write = (key, value) => {
  try { localStorage.setItem(key, value); isStored = true; } catch { isStored = false; }
};
const isEntry = (value) => value !== null && typeof value === "object" && typeof value.verdict === "string" &&
  ["notes", "who", "when"].every((name) => typeof value[name] === "string") &&
  Array.isArray(value.answers) && value.answers.every((text) => typeof text === "string");
const parse = (text) => {
  try { const value = JSON.parse(text); return isEntry(value) ? value : null; } catch { return null; }
};
const keyOf = (dataset, id) => JSON.stringify([dataset, id]);
const key = (i) => page.data.kind === "labels" ? page.columns.id[i] : keyOf(page.data.datasets[page.columns.dataset[i]], page.columns.id[i]);
const numberOf = (text) => places.get(text);
const choicesOf = (i) => page.data.choices[page.columns.scale?.[i] ?? 0];
const entryOf = (i) => entries.get(i) ?? EMPTY;
const isDone = (i) => entryOf(i).verdict !== "";
// The id of a case contains its dataset.
const titleOf = (i) => (page.data.kind === "labels" ? "" : page.data.datasets[page.columns.dataset[i]] + " / ") + page.columns.id[i];
const name = () => byId("name").value.trim();

// Labels of different people are stored apart; verdicts on gold answers are shared.
const open = () => {
  const { kind, page: id } = page.data;
  prefix = "tablebench-" + kind + "/" + id + "/" + (kind === "labels" ? name() + "/" : "");
  entries.clear();
  for (const [i, entry] of Object.entries(page.data.earlier)) entries.set(Number(i), entry);
  for (const [text, i] of places) {
    const stored = read(prefix + text), entry = stored === null ? null : parse(stored);
    // A newer verdict of the page's file, such as a colleague's, replaces the stored one.
    if (entry && (entries.get(i)?.when ?? "") <= entry.when && (entry.verdict === "" || choicesOf(i).some(({ value }) => value === entry.verdict))) entries.set(i, entry);
  }
};
const keep = (i, entry) => {
  entries.set(i, entry);
  write(prefix + key(i), JSON.stringify(entry));
  for (const act of changes) act(i);
};
// Changes an entry; a verdict takes the reviewer's name and the time.
const enter = (i, values) => keep(i, { ...entryOf(i), ...values, who: name(), when: new Date().toISOString().replace(/\.\d+/, "") });
const keepOthers = () => write("tablebench-" + page.data.kind + "/" + page.data.page + "/others", JSON.stringify([...others.values()]));
const addOther = (cells) => others.set(keyOf(cells[0], cells[1]), cells);
const showProgress = () => {
  let done = 0;
  for (let i = 0; i < page.data.count; i++) done += isDone(i);
  byId("bar").value = done;
  byId("progress").textContent = done.toLocaleString("en-US") + " of " + page.data.count.toLocaleString("en-US") +
    (page.data.kind === "labels" ? " labelled" : " looked at") + (isStored ? "" : " · not stored: save before you close the page");
};
const say = (text, isError = false) => {
  byId("message").textContent = text;
  byId("message").className = isError ? "is-error" : "";
};

page.ready(() => {
  for (let i = 0; i < page.data.count; i++) places.set(key(i), i);
  byId("name").value = read("tablebench-reviewer") ?? "";
  for (const cells of page.data.others) addOther(cells);
  try {
    for (const cells of JSON.parse(read("tablebench-" + page.data.kind + "/" + page.data.page + "/others") ?? "[]")) {
      if (Array.isArray(cells) && cells.every((cell) => typeof cell === "string")) addOther(cells);
    }
  } catch { /* not readable: the file that was loaded has them */ }
  open();
  showProgress();
});
changes.push(showProgress);
byId("name").addEventListener("input", () => write("tablebench-reviewer", name()));
byId("name").addEventListener("change", () => {
  if (page.data.kind !== "labels") return;
  const unnamed = prefix.endsWith("//") ? new Map(entries) : new Map();
  const former = prefix;
  open();
  for (const [i, entry] of unnamed) {
    if (!isDone(i)) keep(i, { ...entry, who: name() });
    try { localStorage.removeItem(former + key(i)); } catch { /* nothing is stored */ }
  }
  page.refresh();
  const n = [...entries.keys()].filter(isDone).length;
  say(name() ? counted(n, "label") + " of " + name() + " in this browser." : "");
});
// Another tab with the same page.
window.addEventListener("storage", (event) => {
  const i = event.key?.startsWith(prefix) ? numberOf(event.key.slice(prefix.length)) : undefined;
  const entry = i === undefined || event.newValue === null ? null : parse(event.newValue);
  if (entry) { entries.set(i, entry); page.refresh(); }
});
Object.assign(page, { addOther, changes, choicesOf, enter, entries, entryOf, isDone, keep, keepOthers, keyOf, name, numberOf, others, say, showProgress, titleOf });
