// Export of the filtered cases, and texts to copy.
const { byId, card, count, entry, full, make, OUTCOMES, panel } = page;
const save = (name, text, type) => {
  const link = make("a"), address = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(link, { href: address, download: page.data.facts.folder.replace(/[^\w.-]+/g, "_") + "-" + name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
};
const NUMBER = /^-?\d+(\.\d+)?$/;
// Quoted, so that no spreadsheet runs a text as a formula.
const cell = (value) => {
  if (value === null || value === undefined) return "";
  let text = typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
  if (/^\s*[=+\-@＝＋－＠]|^[\t\r\n]/u.test(text) && !NUMBER.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
};
// The names of a case on the axes.
const names = (i, detail) => page.AXES
  .map(({ name, in_grid }) => [name, in_grid ? page.data.names[name][page.columns[name][i]] : detail[name]])
  .filter(([, value]) => value !== undefined);
const whole = async (i) => {
  const { data, columns: of } = page, detail = await entry("details", i), example = page.exampleOf(i);
  const { id, reply, prediction, references, parts, model, metric, flags, why } = detail;
  const other = detail.before, replies = other?.is_same ? detail : other;
  const before = !of.outcome_before ? {} : {
    outcome_before: other ? OUTCOMES[other.outcome] : null, score_before: other ? other.score : null,
    prediction_before: replies?.prediction ?? null, raw_before: replies?.reply ?? null,
  };
  return {
    case_id: id, dataset: data.names.dataset[example.dataset], example_id: example.id,
    ...Object.fromEntries(names(i, detail)), model, repeat: of.repeat[i], outcome: OUTCOMES[of.outcome[i]], score: of.score[i], metric,
    reason: of.reason[i] < 0 ? null : data.reasons[of.reason[i]], question: example.question, prediction, raw: reply,
    cut: detail.reply_length > (reply ?? "").length || detail.prediction_length > (prediction ?? "").length,
    references, parts, checks: Object.fromEntries(detail.checks.map(({ name, passed }) => [name, passed])), flags, ...why ? { why } : {},
    tags: Object.fromEntries(example.tags.map((number) => [data.tags[number].name, data.tags[number].value])),
    latency_s: detail.latency, prompt_tokens: detail.prompt_tokens, completion_tokens: detail.completion_tokens,
    cost_usd: detail.cost, prompt_digest: detail.prompt_digest, note: page.notes()[id] ?? null, ...before,
  };
};
const everything = async () => {
  const out = [];
  for (const i of page.visible) out.push(await whole(i));
  return out;
};
const busy = (id, act) => byId(id).addEventListener("click", async () => {
  byId(id).disabled = true;
  try { await act(); } finally { byId(id).disabled = false; }
});
busy("save-csv", async () => {
  const rows = await everything(), names = rows.length ? Object.keys(rows[0]) : [];
  save("cases.csv", "\ufeff" + [names, ...rows.map(Object.values)].map((row) => row.map(cell).join(",") + "\r\n").join(""), "text/csv");
});
busy("save-jsonl", async () => save("cases.jsonl", (await everything()).map((row) => JSON.stringify(row) + "\n").join(""), "application/jsonl"));
busy("save-notes", () => save("notes.jsonl", Object.entries(page.notes()).map(([case_id, note]) => JSON.stringify({ case_id, note }) + "\n").join(""), "application/jsonl"));

// Without access to the clipboard the text is selected, so that the user can copy it.
const copy = (label, text) => {
  const button = make("button", "quiet copy", label);
  button.type = "button";
  button.addEventListener("click", async () => {
    const value = await text();
    try {
      await navigator.clipboard.writeText(value);
      button.textContent = "Copied";
    } catch {
      const area = make("textarea", "note");
      area.value = value;
      area.readOnly = true;
      area.setAttribute("aria-label", label);
      button.replaceWith(area);
      area.select();
    }
  });
  return button;
};
const quoted = (word) => /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\"'\"'") + "'";
// The options select one value of each axis, so node ids contain no strategy, modality or model.
const again = (i, detail) => {
  const { data, columns: of } = page, id = detail.id.split("/").slice(1, 4);
  const end = of.repeat[i] > 1 ? "-r" + of.repeat[i] : "";
  return ["pytest", "--model=" + detail.model, "--bench-dataset=" + data.names.dataset[page.exampleOf(i).dataset],
    ...names(i, detail).map(([axis, name]) => "--bench-" + axis + "=" + name), ...data.facts.again,
    "-k", "[" + id.join("-") + end + "]"].map(quoted).join(" ");
};
panel(55, (i, detail) => {
  const node = card("Run it again"), line = again(i, detail), bar = make("div", "copies");
  bar.append(copy("Copy the pytest line", () => line));
  if (page.columns.prompt[i] >= 0) bar.append(copy("Copy the prompt", async () => (await entry("prompts", page.columns.prompt[i])).text));
  node.append(page.said(line), bar);
  return [full(node)];
});
Object.assign(page, { save });
