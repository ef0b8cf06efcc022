// The CSV file that the command reads: save it, and load an earlier one.
const { addOther, byId, choicesOf, counted, entries, entryOf, isDone, keep, keepOthers, keyOf, make, name, numberOf, others, say } = page;
const cell = (text) => /[",\r\n]|^\s|\s$/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
const csv = (rows) => rows.map((row) => row.map(cell).join(",") + "\n").join("");
// Returns the rows of a CSV text, or null if a quote does not end.
const parse = (text) => {
  const rows = [], all = text.replace(/^\ufeff/, "");
  let row = [], value = "", isQuoted = false, isOpen = false;
  const endCell = () => { row.push(value); value = ""; isOpen = false; };
  const endRow = () => { if (isOpen || value || row.length) { endCell(); rows.push(row); } row = []; };
  for (let at = 0; at < all.length; at++) {
    const sign = all[at];
    if (isQuoted) {
      if (sign !== '"') value += sign;
      else if (all[at + 1] === '"') { value += '"'; at++; }
      else isQuoted = false;
    } else if (sign === '"' && !value) { isQuoted = isOpen = true; }
    else if (sign === ",") { endCell(); isOpen = true; }
    else if (sign === "\n" || sign === "\r") endRow();
    else value += sign;
  }
  if (isQuoted) return null;
  endRow();
  return rows;
};
const download = (text) => {
  const link = make("a"), address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  Object.assign(link, { href: address, download: page.data.file });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
};
const rowOf = (i) => {
  const { columns, data } = page, { verdict, answers, notes, who, when } = entryOf(i);
  if (data.kind === "labels") return [columns.id[i], verdict, name(), when];
  const right = data.with_answers.includes(verdict) && answers.length ? JSON.stringify(answers) : "";
  return [data.datasets[columns.dataset[i]], columns.id[i], columns.digest[i], verdict, right, notes.trim(), who || name(), when];
};
const save = () => {
  const isLabels = page.data.kind === "labels";
  if (isLabels && !name()) { say("Enter your name first: labels of different people are compared.", true); byId("name").focus(); return; }
  const done = [...entries.keys()].filter(isDone).sort((a, b) => a - b), rows = done.map(rowOf), keys = new Set(rows.map(([a, b]) => keyOf(a, b)));
  const further = [...others].filter(([key]) => !keys.has(key)).map(([, cells]) => cells);
  const noun = isLabels ? "label" : "verdict";
  if (!rows.length && !further.length) { say("There is no " + noun + " to save.", true); return; }
  download(csv([page.data.header, ...rows, ...further]));
  const lost = [...entries.keys()].filter((i) => !isDone(i) && entryOf(i).notes.trim()).length;
  const empty = done.filter((i) => page.data.with_answers.includes(entryOf(i).verdict) && !entryOf(i).answers.length).length;
  say(["Saved " + counted(rows.length, noun) + (further.length ? " and " + further.length + " of examples that are not on this page or have changed" : "") + ".",
    empty ? counted(empty, "verdict") + " without right answers: corrected figures leave these examples out." : "",
    lost ? counted(lost, "note") + " without a verdict: not in the file." : ""].filter(Boolean).join(" "));
};
const answersOf = (text) => {
  if (!text.trim()) return [];
  try {
    const values = JSON.parse(text);
    if (Array.isArray(values)) return values.map((value) => typeof value === "string" ? value : JSON.stringify(value));
  } catch { /* any other text is one answer */ }
  return [text];
};
const tally = { taken: 0, newer: 0, elsewhere: 0, changed: 0, strange: 0 };
const take = (i, entry) => {
  const here = entryOf(i);
  if (here.when && entry.when < here.when) { tally.newer++; return; }
  keep(i, entry);
  tally.taken++;
};
const readCorrection = (cells) => {
  const get = (column) => cells[column] ?? "", key = keyOf(get("dataset").trim(), get("example").trim()), i = numberOf(key);
  const verdict = get("verdict").trim(), line = page.data.header.map(get);
  if (!page.data.choices[0].some(({ value }) => value === verdict)) { tally.strange++; return; }
  if (i === undefined || !["*", page.columns.digest[i]].includes(get("digest").trim())) {
    tally[i === undefined ? "elsewhere" : "changed"]++;
    addOther(line);
    return;
  }
  take(i, { verdict, answers: answersOf(get("answers")), notes: get("evidence"), who: get("who"), when: get("when") });
};
const readLabel = (cells) => {
  const i = numberOf(cells.case_id), label = Number(cells.label), who = (cells.who ?? "").trim();
  if (i === undefined || who !== name()) { tally.elsewhere++; return; }
  const choice = cells.label.trim() === "" ? undefined : choicesOf(i).find(({ value }) => Math.abs(Number(value) - label) < 1e-9);
  if (choice === undefined) { tally.strange++; return; }
  take(i, { verdict: choice.value, answers: [], notes: "", who, when: cells.when ?? "" });
};
const load = async (file) => {
  const isLabels = page.data.kind === "labels", rows = parse(await file.text()), required = page.data.header.slice(0, isLabels ? 2 : 4);
  const header = rows?.[0]?.map((text) => text.trim()) ?? [], missing = required.filter((column) => !header.includes(column));
  if (rows === null || missing.length) {
    say(file.name + " was not loaded: " + (rows === null ? "a quoted cell does not end." : "the first row lacks the column " + missing[0] + "."), true);
    return;
  }
  const lines = rows.slice(1).map((row) => Object.fromEntries(header.map((column, n) => [column, row[n] ?? ""])));
  const people = new Set(lines.map(({ who }) => (who ?? "").trim()));
  if (isLabels && !name() && people.size === 1) {
    byId("name").value = [...people][0];
    byId("name").dispatchEvent(new Event("input"));
    byId("name").dispatchEvent(new Event("change"));
  }
  for (const part of Object.keys(tally)) tally[part] = 0;
  lines.forEach(isLabels ? readLabel : readCorrection);
  keepOthers();
  page.choose();
  page.refresh();
  say([counted(tally.taken, isLabels ? "label" : "verdict") + " loaded.",
    tally.newer ? tally.newer + " here are newer and stay." : "",
    tally.elsewhere ? tally.elsewhere + (isLabels ? " of another person or case were skipped." : " of other examples stay in the saved file.") : "",
    tally.changed ? tally.changed + " for another version of the row were not taken over." : "",
    tally.strange ? tally.strange + " could not be read and were skipped." : ""].filter(Boolean).join(" "), tally.strange > 0);
};
byId("save").addEventListener("click", save);
byId("load").addEventListener("click", () => byId("file").click());
byId("file").addEventListener("change", async () => {
  const [file] = byId("file").files;
  if (file) await load(file);
  byId("file").value = "";
});
