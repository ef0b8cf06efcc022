// Notes on cases, stored in this browser by run and case.
const { byId, card, counted, full, make, panel } = page;
let notes = {}, stored = true;
const place = () => "tablebench-notes/" + page.data.facts.run;
const save = () => {
  try {
    if (Object.keys(notes).length) localStorage.setItem(place(), JSON.stringify(notes)); else localStorage.removeItem(place());
    stored = true;
  } catch { stored = false; }
};
const showCount = () => {
  const n = Object.keys(notes).length;
  byId("noted").textContent = (n ? counted(n, "note") : "") + (stored ? "" : " (lost when you close the page: the browser cannot store them)");
  byId("save-notes").hidden = n === 0;
};
page.ready(() => {
  try {
    const found = JSON.parse(localStorage.getItem(place()) ?? "{}");
    notes = Object.fromEntries(Object.entries(found).filter(([, text]) => typeof text === "string"));
  } catch { /* none are stored, or they are not readable */ }
  page.column("note", "Note", (i) => notes[page.columns.id[i]] ?? null);
  showCount();
});
page.filter("note", "Note", {
  options: () => [["yes", "with a note"], ["no", "without"]],
  test: (value) => (i) => (page.columns.id[i] in notes) === (value === "yes"),
});
panel(70, (i) => {
  const id = page.columns.id[i], node = card("Note"), text = make("textarea", "note");
  text.value = notes[id] ?? "";
  text.rows = 3;
  text.setAttribute("aria-label", "Note on this case, stored in this browser");
  text.addEventListener("input", () => {
    if (text.value) notes[id] = text.value; else delete notes[id];
    save();
    showCount();
  });
  node.append(text);
  return [full(node)];
});
Object.assign(page, { notes: () => notes });
