// All configurations of a case's example: a map of outcomes, and the answers side by side.
const { card, count, counted, entry, full, make, said, write, OUTCOMES, WORDS } = page;
const LETTERS = ["R", "W", "N", "S"], STEPS = 20;
// The cases of an example are adjacent.
const siblings = (i) => {
  const { example } = page.columns;
  let first = i, last = i;
  while (example[first - 1] === example[i]) first--;
  while (example[last + 1] === example[i]) last++;
  return Array.from({ length: last - first + 1 }, (_, n) => first + n);
};
const named = (cases, axis) => {
  const used = new Set(cases.map((n) => page.columns[axis][n]));
  return [...page.data.names[axis].keys()].filter((n) => used.has(n)).map((n) => [n, page.data.names[axis][n]]);
};
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const outcomeText = (n) => {
  const { outcome, score, outcome_before: earlier } = page.columns;
  const before = earlier && earlier[n] >= 0 ? "; before " + WORDS[earlier[n]] : "";
  return WORDS[outcome[n]] + (score[n] === null ? "" : ", score " + score[n].toFixed(2)) + before;
};
// Opens a case without changing the filters, even if they exclude it.
const opens = (button, n) => {
  button.type = "button";
  button.addEventListener("click", () => page.open(n));
};
// A cell: all cases of a serializer and a perturbation. It opens this case, else its first one.
const cell = (cases, i, label) => {
  const { outcome: outcomes, score, marks } = page.columns, node = make("button");
  const scores = cases.map((n) => score[n]).filter((value) => value !== null);
  opens(node, cases.includes(i) ? i : cases[0]);
  node.append(cases.length === 1 ? LETTERS[outcomes[cases[0]]]
    : LETTERS.map((letter, outcome) => [letter, cases.filter((n) => outcomes[n] === outcome).length])
      .filter(([, n]) => n).map(([letter, n]) => letter + n).join(" "));
  const flips = cases.reduce((bits, n) => bits | marks[n], 0);
  if (flips & 6) node.append(make("small", flips & 2 ? "down" : "up", flips & 2 ? "▼" : "▲"));
  node.setAttribute("aria-label", label + ": " + cases.map(outcomeText).join("; "));
  node.title = node.getAttribute("aria-label");
  if (cases.includes(i)) node.setAttribute("aria-current", "true");
  const td = make("td", scores.length ? "h" + Math.round(mean(scores) * STEPS) : "unknown");
  td.append(node);
  return td;
};
const gridCard = (i) => {
  const cases = siblings(i), { serializer, perturbation } = page.columns;
  if (cases.length < 2) return [];
  const forms = named(cases, "serializer"), changes = named(cases, "perturbation");
  const table = make("table", "heat outcomes"), head = make("tr"), body = make("tbody");
  head.append(make("td"));
  for (const [, name] of changes) {
    const th = make("th");
    th.scope = "col";
    th.append(write(make("span"), name, true));
    head.append(th);
  }
  for (const [form, name] of forms) {
    const tr = make("tr"), th = write(make("th"), name, true);
    th.scope = "row";
    tr.append(th, ...changes.map(([change, arrangement]) => {
      const same = cases.filter((n) => serializer[n] === form && perturbation[n] === change);
      return same.length ? cell(same, i, name + ", " + arrangement) : make("td");
    }));
    body.append(tr);
  }
  const thead = make("thead");
  thead.append(head);
  table.append(thead, body);
  // The table is one tab stop; arrows move between cells instead of opening the next case.
  const rows = [...body.rows].map((tr) => [...tr.cells].slice(1).map((td) => td.firstChild));
  const buttons = rows.flat().filter(Boolean);
  for (const button of buttons) button.tabIndex = button.hasAttribute("aria-current") ? 0 : -1;
  table.addEventListener("keydown", (event) => {
    const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [0, 0];
    if (!down && !right) return;
    event.preventDefault();
    event.stopPropagation();
    let row = rows.findIndex((line) => line.includes(event.target)), column = rows[row]?.indexOf(event.target);
    do { row += down; column += right; } while (rows[row] && column in rows[row] && !rows[row][column]);
    const next = rows[row]?.[column];
    if (!next) return;
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  const scroll = make("div", "scroll");
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Outcomes of this example by serializer and perturbation");
  scroll.append(table);
  const flips = page.columns.outcome_before ? " ▲ improved, ▼ regressed." : "";
  const hint = make("p", "hint", "R right, W wrong, N no answer, S scored without a verdict. More colour means a higher score." + flips + " Select a cell to open its case.");
  return [full(card("This example in all its configurations", scroll, hint))];
};
// Equal answers are folded into one; the most frequent ones come first.
const answersCard = async (i) => {
  const cases = siblings(i), { outcome: outcomes, reason } = page.columns;
  if (cases.length < 2) return [];
  const groups = new Map();
  for (const n of cases) {
    const detail = await entry("details", n);
    const [text, length] = outcomes[n] === 2 ? [null, page.data.reasons[reason[n]] ?? ""]
      : detail.prediction === null ? [detail.reply ?? "", detail.reply_length] : [detail.prediction, detail.prediction_length];
    const key = JSON.stringify([text, length]);
    if (!groups.has(key)) groups.set(key, { text, length, cases: [] });
    groups.get(key).cases.push(n);
  }
  const found = [...groups.values()].sort((one, other) => other.cases.length - one.cases.length);
  const box = make("div", "answers");
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", "Answers to this example");
  for (const { text, length, cases: own } of found) {
    const node = make("figure"), line = make("figcaption");
    line.append(make("b", "", count(own.length) + " of " + count(cases.length)));
    for (const [outcome, name] of OUTCOMES.entries()) {
      const n = own.filter((one) => outcomes[one] === outcome).length;
      if (n) line.append(" ", make("span", "state tone-" + name, WORDS[outcome] + (n < own.length ? " " + count(n) : "")));
    }
    node.append(line, text === null ? write(make("p", "empty"), "No answer: " + (length || "no reason was recorded"), true) : said(text === "" ? "(empty)" : text));
    if (text !== null && length > text.length) node.append(make("p", "hint", "The first " + count(text.length) + " of " + count(length) + " characters."));
    const names = make("ul", "ids"), list = make("details");
    for (const one of own) {
      const item = make("li"), button = write(make("button"), page.how(one), true);
      opens(button, one);
      if (one === i) button.setAttribute("aria-current", "true");
      item.append(button);
      names.append(item);
    }
    if (own.length > 1) list.append(make("summary", "", counted(own.length, "configuration")), names);
    node.append(own.length > 1 ? list : names);
    box.append(node);
  }
  return [full(card("Answers to this example: " + counted(found.length, found.length === 1 ? "answer" : "different answer") + " in " + counted(cases.length, "case"), box))];
};
page.panel(44, gridCard);
page.panel(46, answersCard);
