// A case in both runs: outcomes, scores, the earlier answer, and the difference word by word.
const { card, count, fact, full, make, said, write, OUTCOMES, WORDS } = page;
// Tokens as in Python's `word_diff`: words, gaps and signs; at most MOST of each text.
const TOKEN = /\s+|[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]/gu, MOST = 2000;
const pieces = (before, after) => {
  const old = before.match(TOKEN) ?? [], now = after.match(TOKEN) ?? [];
  const cut = old.length > MOST || now.length > MOST;
  const a = old.slice(0, MOST), b = now.slice(0, MOST), found = [];
  const add = (sign, text) => {
    if (found.length && found.at(-1)[0] === sign) found.at(-1)[1] += text;
    else found.push([sign, text]);
  };
  let low = 0, highA = a.length, highB = b.length;
  while (low < highA && low < highB && a[low] === b[low]) low++;
  while (highA > low && highB > low && a[highA - 1] === b[highB - 1]) { highA--; highB--; }
  // Lengths of the longest common sequences of the rest, from its end.
  const width = highB - low + 1, longest = new Uint16Array((highA - low + 1) * width);
  for (let i = highA - low - 1; i >= 0; i--) {
    for (let j = width - 2; j >= 0; j--) {
      longest[i * width + j] = a[low + i] === b[low + j] ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  add("=", a.slice(0, low).join(""));
  let i = 0, j = 0;
  while (i < highA - low || j < width - 1) {
    if (i < highA - low && j < width - 1 && a[low + i] === b[low + j]) { add("=", a[low + i]); i++; j++; }
    else if (j === width - 1 || (i < highA - low && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) add("-", a[low + i++]);
    else add("+", b[low + j++]);
  }
  add("=", a.slice(highA).join(""));
  return [found.filter(([, text]) => text), cut];
};
const TAGS = { "=": "span", "-": "del", "+": "ins" };
const changed = (before, after) => {
  const [found, cut] = pieces(before, after);
  const node = make("pre", "said");
  node.dir = "auto";
  node.tabIndex = 0;
  node.append(...found.map(([sign, text]) => write(make(TAGS[sign]), text)));
  return cut ? [node, make("p", "hint", "Only the first " + count(MOST) + " words and signs of each text are compared.")] : [node];
};
const badge = (word, outcome, score) => {
  const node = make("div");
  node.append(make("span", "", word), " ", make("b", "state tone-" + OUTCOMES[outcome], WORDS[outcome]));
  if (score !== null) node.append(" ", make("b", "", String(score)));
  return node;
};
const MARKS = [[2, "regressed"], [4, "improved"], [32, "newly unanswered"], [64, "newly answered"]];
const panel = (i, detail) => {
  if (!page.columns.outcome_before) return [];
  const other = detail.before;
  if (!other) return [full(card("Before and after", make("p", "empty", "The run before does not have this case.")))];
  const { outcome, score, reason } = other, { columns } = page;
  const facts = make("div", "facts");
  facts.append(badge("before", outcome, score), badge("after", columns.outcome[i], columns.score[i]));
  for (const [bit, name] of MARKS) if (columns.marks[i] & bit) facts.append(fact("change", name));
  if (reason) facts.append(fact("no answer before", reason));
  const node = card("Before and after", facts);
  if (other.is_same) {
    node.append(make("p", "hint", detail.reply === null ? "Neither run has a reply." : "The reply is the same in both, word for word."));
    return [full(node)];
  }
  const texts = [["Reply", other.reply, detail.reply, other.reply_length],
    ["Read as", other.prediction, detail.prediction, other.prediction_length]];
  const cards = texts.map(([name, text, , length]) => {
    const one = card(name + " before");
    one.append(text === null ? make("p", "empty", "There was none.") : said(text === "" ? "(empty)" : text));
    if (length > (text ?? "").length) one.append(make("p", "hint", "Cut here: all " + count(length) + " characters are in records.jsonl of the run before."));
    return one;
  });
  for (const [name, before, after] of texts) {
    if (before === null || after === null || before === after) continue;
    node.append(make("h3", "", name + ", word by word"), ...changed(before, after));
  }
  return [...cards, full(node)];
};
page.panel(42, panel);
