// Verdict buttons, fields, and keys.
const { byId, choicesOf, enter, entryOf, make, say } = page;
const box = byId("verdict"), answers = byId("answers"), notes = byId("notes"), advance = byId("advance");
let item = -1, gold = [];

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);
const takesAnswers = (verdict) => page.data.with_answers.includes(verdict);
const showFields = () => {
  const { verdict, who, when } = entryOf(item);
  for (const node of byId("choices").children) node.setAttribute("aria-pressed", String(node.value === verdict));
  if (answers) byId("answering").hidden = !takesAnswers(verdict);
  byId("given").textContent = verdict ? [who, when.replace("T", " ").replace(/(:\d\d)(:\d\d)?Z$/, "$1")].filter(Boolean).join(" · ") : "";
};
const showVerdict = (i, detail) => {
  item = i;
  gold = detail.gold;
  box.hidden = false;
  byId("choices").replaceChildren(...choicesOf(i).map(({ value, label, key, tone }) => {
    const button = make("button", "rv-choice tone-" + tone);
    Object.assign(button, { type: "button", value });
    button.append(make("span", "", label), make("kbd", "", key));
    button.lastChild.setAttribute("aria-hidden", "true");
    button.setAttribute("aria-keyshortcuts", key);
    button.addEventListener("click", () => give(value));
    return button;
  }));
  byId("choices").classList.toggle("is-scale", choicesOf(i).length > 5);
  if (answers) answers.value = entryOf(i).answers.join("\n");
  if (notes) notes.value = entryOf(i).notes;
  showFields();
};
// The same verdict again takes it back.
const give = (value) => {
  const entry = entryOf(item), verdict = entry.verdict === value ? "" : value;
  let right = entry.answers;
  if (verdict === "several" && !right.length) right = gold;
  if (verdict === "wrong" && right.join("\n") === gold.join("\n")) right = [];
  enter(item, { verdict, answers: right });
  if (answers) answers.value = right.join("\n");
  showFields();
  say("");
  if (verdict && advance.checked && !takesAnswers(verdict)) page.move(1);
};
// Adds an answer of the models to the right ones.
const use = (answer) => {
  const entry = entryOf(item), verdict = takesAnswers(entry.verdict) ? entry.verdict : "wrong";
  const former = takesAnswers(entry.verdict) ? entry.answers : [], flat = answer.replace(/\s*\n\s*/g, " ").trim();
  enter(item, { verdict, answers: former.includes(flat) ? former : [...former, flat] });
  answers.value = entryOf(item).answers.join("\n");
  showFields();
};
answers?.addEventListener("input", () => enter(item, { answers: lines(answers.value) }));
notes?.addEventListener("input", () => enter(item, { notes: notes.value }));
const PLACE = "tablebench-review-advance-" + (answers ? "audit" : "labels");
try { advance.checked = (localStorage.getItem(PLACE) ?? (answers ? "no" : "yes")) === "yes"; } catch { advance.checked = !answers; }
advance.addEventListener("change", () => { try { localStorage.setItem(PLACE, advance.checked ? "yes" : "no"); } catch { /* stays until the page closes */ } });

const isField = (node) => /^(SELECT|TEXTAREA)$/.test(node.tagName) || (node.tagName === "INPUT" && node.type !== "checkbox");
const close = () => {
  byId("review").classList.remove("is-open");
  byId("toggle").setAttribute("aria-expanded", "false");
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (isField(event.target)) {
    if (event.key === "Escape") { event.target.blur(); byId("item").focus({ preventScroll: true }); }
    return;
  }
  if (item < 0) return;
  const inFrame = event.target.closest(".shown, .said, .rv-long") !== null;
  const choice = choicesOf(item).find(({ key }) => key === event.key);
  if (choice) { if (!event.repeat) give(choice.value); }
  else if (event.key === "j" || (event.key === "ArrowRight" && !inFrame)) page.move(1);
  else if (event.key === "k" || (event.key === "ArrowLeft" && !inFrame)) page.move(-1);
  else if (event.key === "n") page.nextTodo();
  else if (event.key === "/") { byId("review").classList.add("is-open"); byId("query").focus(); byId("query").select(); }
  else if (event.key === "a" && answers) {
    if (!takesAnswers(entryOf(item).verdict)) { say("Choose Gold wrong or Several answers right first."); return; }
    answers.focus();
  } else if (event.key === "Escape") close();
  else return;
  event.preventDefault();
});
byId("before").addEventListener("click", () => page.move(-1));
byId("after").addEventListener("click", () => page.move(1));
byId("toggle").addEventListener("click", () => {
  const isOpen = byId("review").classList.toggle("is-open");
  byId("toggle").setAttribute("aria-expanded", String(isOpen));
  page.redraw();
  page.reveal();
  if (isOpen) byId("list").focus();
});
Object.assign(page, { close, showVerdict, use });
