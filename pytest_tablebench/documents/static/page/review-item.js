// The current item: question, answers, evidence and tables.
const { byId, card, choicesOf, counted, entry, entryOf, isDone, make, reviewTable, said, scrollToMark, write } = page;
const content = byId("content");
let opened = -1, revealed = -1;

const isHidden = (i) => page.data.blind && page.data.kind === "audit" && !isDone(i) && revealed !== i;
const text = (words, name) => {
  const node = write(make("div", name), words);
  node.dir = "auto";
  return node;
};
const golds = (gold, title) => {
  const node = card(title);
  node.classList.add("rv-gold");
  for (const words of gold) node.append(text(words, "rv-answer"));
  if (!gold.length) node.append(make("p", "empty", "none"));
  return node;
};
const groups = (all) => {
  const node = card("Answers of the models"), list = make("ul", "rv-groups"), most = Math.max(1, ...all.map(({ cases }) => cases));
  for (const { answer, cases, voters, is_gold: isGold } of all) {
    const item = make("li"), words = text(answer, "rv-answer"), side = make("div", "rv-votes"), bar = make("meter");
    Object.assign(bar, { min: 0, max: most, value: cases });
    bar.setAttribute("aria-label", counted(cases, "case"));
    side.append(bar, make("b", "", counted(cases, "case")));
    if (isGold) words.append(" ", make("span", "rv-tag", "counts as the gold"));
    item.append(words, side, write(make("p", "rv-voters"), voters.join(", "), true));
    if (!isGold) {
      const button = make("button", "quiet", "Use as answer");
      button.type = "button";
      button.addEventListener("click", () => page.use(answer));
      side.append(button);
    }
    list.append(item);
  }
  node.append(all.length ? list : make("p", "empty", "no model answered"));
  return node;
};
const reasons = (all) => {
  const node = card("Evidence"), list = make("ul", "rv-evidence");
  for (const { kind, text: words, answer, against, odds } of all) {
    const item = make("li", against ? "is-against" : "is-for"), line = make("p", "rv-kind");
    line.append(make("b", "", kind), " ", make("span", "rv-odds", odds));
    item.append(line, text(words, "rv-reason"));
    if (answer !== null) {
      const supports = make("p", "rv-supports", "gives ");
      supports.append(text(answer, "rv-answer"));
      item.append(supports);
    }
    list.append(item);
  }
  node.append(all.length ? list : make("p", "empty", "none"));
  return node;
};
const judged = (detail) => {
  const reply = card("Reply of the model", said(detail.reply));
  if (detail.reply_length > detail.reply.length) reply.append(make("p", "hint", "Shown in part: the whole reply has " + counted(detail.reply_length, "character") + " and is in records.jsonl."));
  if (detail.mark !== null) reply.append(make("p", "hint", "The judge's score: " + detail.mark));
  return [golds(detail.gold, "Reference"), reply];
};
const hiddenCard = (i) => {
  const node = card("Answers of the models and evidence"), button = make("button", "quiet", "Show them");
  button.type = "button";
  button.addEventListener("click", () => { revealed = i; display(i); });
  node.append(make("p", "hint", "Hidden until you have given a verdict."), button);
  return node;
};
const display = async (i) => {
  opened = i;
  const detail = await entry("details", i), { data } = page;
  const tables = await Promise.all(detail.tables.map((place) => entry("tables", place)));
  if (opened !== i) return;
  const title = byId("item"), [at, of] = page.placeOf(), isAudit = data.kind === "audit", hide = isHidden(i);
  title.replaceChildren();
  write(title, page.titleOf(i), true);
  byId("before").disabled = at === 0;
  byId("after").disabled = at === of - 1;
  const top = make("div", "rv-top-cards"), question = text(detail.question, "rv-big"), nodes = [question];
  if (data.changed.includes(i)) nodes.push(make("p", "warning", "An earlier verdict is for another version of this example. Give a new one; until then the saved file keeps the old one, which runs refuse."));
  if (isAudit) {
    top.append(golds(detail.gold, "Gold answer"));
    if (hide) top.append(hiddenCard(i)); else top.append(groups(detail.groups), reasons(detail.evidence));
  } else top.append(...judged(detail));
  nodes.push(top);
  const answers = isAudit && !hide ? detail.groups.filter(({ is_gold: isGold }) => !isGold).map(({ answer }) => answer) : [];
  const boxes = tables.map((table, n) => reviewTable(table, hide ? [] : detail.cells.filter(([t]) => t === n).map(([, row, column]) => [row, column]),
    detail.gold, answers, [tables.length > 1 ? "Table " + (n + 1) + " of " + tables.length : "", table.title ?? ""].filter(Boolean).join(": ")));
  if (!detail.table_count) nodes.push(make("p", "empty", "No table is stored for this question."));
  else if (!tables.length) nodes.push(make("p", "hint", "The tables did not fit on this page."));
  content.replaceChildren(...nodes, ...boxes);
  byId("main").scrollTop = 0;
  if (byId("main").getBoundingClientRect().top < 0) byId("main").scrollIntoView(); // on a phone
  boxes.forEach(scrollToMark);
  page.showVerdict(i, detail);
};
page.changes.push((i) => { if (i === opened && page.data.blind && page.data.kind === "audit" && isDone(i) && content.querySelector(".rv-groups") === null) display(i); });
Object.assign(page, { display, refresh: () => { page.showProgress(); page.redraw(); if (opened >= 0) display(opened); } });
