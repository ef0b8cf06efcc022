// Panels of a case: facts, question and tables, the reply and the answer read from it.
const { card, count, entry, exampleOf, fact, full, make, said, table, where, write } = page;
const { OUTCOMES, WORDS } = page;
const factCard = (i, detail) => {
  const { parts, checks, model, metric, flags, latency, cost } = detail;
  const line = make("div", "facts");
  const outcome = page.columns.outcome[i];
  const badge = make("span", "state tone-" + OUTCOMES[outcome], WORDS[outcome]);
  badge.id = "case-outcome";
  line.append(badge);
  if (page.columns.score[i] !== null) line.append(fact("score", page.columns.score[i]));
  if (metric) line.append(fact("metric", metric));
  if (detail.why) line.append(fact("why", detail.why));
  if (page.isCorrected(i)) {
    const by = page.columns.corrected_score[i];
    const result = page.CORRECTED[page.columns.corrected[i]] + (by === null ? "" : ", score " + by);
    line.append(fact("by corrected gold", result + (detail.corrected ? " (" + detail.corrected + ")" : "")));
  }
  for (const [name, value] of Object.entries(parts)) line.append(fact(name, value ?? "–"));
  if (flags.length) line.append(fact("flags", flags.join(", ")));
  for (const { name, passed } of checks) line.append(fact(name, passed === null ? "no verdict" : passed ? "passed" : "failed"));
  const rest = make("div", "facts hint");
  for (const [name, value] of [["model", model], ...page.MODES.map((axis) => [axis.name, detail[axis.name]]),
    ["latency", latency === null ? null : latency + " s"], ["prompt tokens", detail.prompt_tokens],
    ["completion tokens", detail.completion_tokens], ["cost", cost === null ? null : "$" + cost]]) {
    if (value !== null && value !== undefined) rest.append(fact(name, value));
  }
  for (const number of exampleOf(i).tags) rest.append(fact(page.data.tags[number].name, page.data.tags[number].value));
  if (detail.from_store) rest.append(fact("answer", "from the store"));
  const meanings = Object.entries(page.data.facts.parts).filter(([name]) => name in parts);
  return [full(card("", line, ...meanings.map(([name, text]) => make("p", "hint", name + ": " + text + ".")), rest))];
};
const exampleCards = async (i) => {
  const place = page.columns.table[i];
  const shown = place < 0 ? null : await entry("tables", place);
  const question = shown ? shown.question : exampleOf(i).question;
  const nodes = [];
  if (question) {
    const text = write(make("p", "big"), question);
    text.dir = "auto";
    nodes.push(full(card("Question", text)));
    if (shown && shown.length > question.length) nodes.push(full(where("texts.jsonl.gz", "The question continues in")));
  }
  if (shown && shown.tables.length) {
    nodes.push(full(card(shown.tables.length > 1 ? "Tables" : "Table", ...shown.tables.map(table))));
    if (shown.table_count > shown.tables.length) nodes.push(full(where("texts.jsonl.gz", count(shown.table_count) + " tables are in")));
  } else if (!shown) {
    nodes.push(full(page.data.facts.texts
      ? where("texts.jsonl.gz", "The table is not on this page; it is in")
      : make("p", "hint", "This run stored no texts, so question and table are not shown.")));
  }
  return nodes;
};
const replyCards = (i, detail) => {
  const { prediction, references } = detail;
  const reply = card("Reply");
  if (detail.reply === null) reply.append(make("p", "empty", "No reply: " + (page.data.reasons[page.columns.reason[i]] ?? "no reason was recorded") + "."));
  else reply.append(said(detail.reply));
  if (detail.reply_length > (detail.reply ?? "").length) reply.append(where("records.jsonl", "Cut here: all " + count(detail.reply_length) + " characters are in"));
  const right = card("Read as");
  if (prediction === null) right.append(make("p", "empty", "Nothing."));
  else right.append(said(prediction === "" ? "(empty)" : prediction));
  if (detail.prediction_length > (prediction ?? "").length) right.append(where("records.jsonl", "Cut here: all " + count(detail.prediction_length) + " characters are in"));
  const expected = make("div");
  for (const reference of references) expected.append(said(reference));
  right.append(make("h3", "", detail.reference_count > 1 ? "References" : "Reference"), expected);
  if (!references.length) expected.append(make("p", "empty", "None was recorded."));
  if (detail.reference_count > references.length) right.append(where("records.jsonl", count(detail.reference_count) + " references are in"));
  return [reply, right];
};
page.panel(10, factCard);
page.panel(20, exampleCards);
page.panel(40, replyCards);
