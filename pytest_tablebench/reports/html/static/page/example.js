// Panels of a case: its facts, question and tables, the reply and what was read of it.
const { card, count, entry, fact, full, make, said, table, where, write } = page;
const { OUTCOMES, WORDS } = page;
const factCard = (i, detail) => {
  const [, , , , , , , parts, facts, cost, , , checks] = detail;
  const [strategy, modality, model, metric, flags] = facts;
  const [latency, prompt, completion, usd, stored] = cost;
  const line = make("div", "facts");
  const outcome = page.columns.o[i];
  const badge = make("span", "state tone-" + OUTCOMES[outcome], WORDS[outcome]);
  badge.id = "case-outcome";
  line.append(badge);
  if (page.columns.v[i] !== null) line.append(fact("score", page.columns.v[i]));
  if (metric) line.append(fact("metric", metric));
  for (const [name, value] of Object.entries(parts)) line.append(fact(name, value));
  if (flags.length) line.append(fact("flags", flags.join(", ")));
  for (const [name, passed] of checks) line.append(fact(name, passed === null ? "no verdict" : passed ? "passed" : "failed"));
  const rest = make("div", "facts hint");
  for (const [name, value] of [["model", model], ["strategy", strategy], ["modality", modality],
    ["latency", latency === null ? null : latency + " s"], ["prompt tokens", prompt],
    ["completion tokens", completion], ["cost", usd === null ? null : "$" + usd]]) {
    if (value !== null && value !== undefined) rest.append(fact(name, value));
  }
  for (const tag of page.data.examples[page.columns.e[i]][4]) rest.append(fact(...page.data.tags[tag]));
  if (stored) rest.append(fact("answer", "from the store"));
  return [full(card("", line, rest))];
};
const exampleCards = async (i) => {
  const place = page.columns.t[i], example = page.data.examples[page.columns.e[i]];
  const found = place < 0 ? null : await entry("t", place);
  const question = found ? found[1] : example[2];
  const nodes = [];
  if (question) {
    const text = write(make("p", "big"), question);
    text.dir = "auto";
    nodes.push(full(card("Question", text)));
    if (found && found[2] > question.length) nodes.push(full(where("texts.jsonl.gz", "The question goes on in")));
  }
  if (found && found[3].length) {
    nodes.push(full(card(found[3].length > 1 ? "Tables" : "Table", ...found[3].map(table))));
    if (found[4] > found[3].length) nodes.push(full(where("texts.jsonl.gz", count(found[4]) + " tables are in")));
  } else if (!found) {
    nodes.push(full(page.data.facts.texts
      ? where("texts.jsonl.gz", "The table is not in this page but in")
      : make("p", "hint", "This run kept no texts, so question and table are not here.")));
  }
  return nodes;
};
const replyCards = (i, detail) => {
  const [, raw, rawLength, read, readLength, references, referenceCount] = detail;
  const reply = card("Reply");
  if (raw === null) reply.append(make("p", "empty", "There was none: " + (page.data.reasons[page.columns.r[i]] ?? "no reason was kept") + "."));
  else reply.append(said(raw));
  if (rawLength > (raw ?? "").length) reply.append(where("records.jsonl", "Cut here: all " + count(rawLength) + " characters are in"));
  const right = card("Read as");
  if (read === null) right.append(make("p", "empty", "Nothing."));
  else right.append(said(read === "" ? "(empty)" : read));
  if (readLength > (read ?? "").length) right.append(where("records.jsonl", "Cut here: all " + count(readLength) + " characters are in"));
  const expected = make("div");
  for (const reference of references) expected.append(said(reference));
  right.append(make("h3", "", referenceCount > 1 ? "References" : "Reference"), expected);
  if (!references.length) expected.append(make("p", "empty", "None was kept."));
  if (referenceCount > references.length) right.append(where("records.jsonl", count(referenceCount) + " references are in"));
  return [reply, right];
};
page.panel(10, factCard);
page.panel(20, exampleCards);
page.panel(40, replyCards);
