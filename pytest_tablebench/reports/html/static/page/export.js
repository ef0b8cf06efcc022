// What is filtered as a file, and things to copy.
const { byId, card, count, entry, full, make, OUTCOMES, panel } = page;
const save = (name, text, type) => {
  const link = make("a"), address = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(link, { href: address, download: page.data.facts.folder.replace(/[^\w.-]+/g, "_") + "-" + name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
};
const NUMBER = /^-?\d+(\.\d+)?$/;
// A spreadsheet must not take a text for a formula.
const cell = (value) => {
  if (value === null || value === undefined) return "";
  let text = typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
  if (/^\s*[=+\-@＝＋－＠]|^[\t\r\n]/u.test(text) && !NUMBER.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
};
const whole = async (i) => {
  const { data, columns: c } = page, detail = await entry("d", i), example = data.examples[c.e[i]];
  const [id, raw, rawLength, read, readLength, references, , parts, facts, cost, digest, , checks] = detail;
  const [strategy, modality, model, metric, flags] = facts;
  const other = detail[11], told = !other ? [] : other[3] === 1 ? [raw, rawLength, read] : other[3];
  const before = !c.bo ? {} : {
    outcome_before: other ? OUTCOMES[other[0]] : null, score_before: other ? other[1] : null,
    prediction_before: told[2] ?? null, raw_before: told[0] ?? null,
  };
  return {
    case_id: id, dataset: data.names[0][example[0]], example_id: example[1],
    serializer: data.names[1][c.s[i]], perturbation: data.names[2][c.p[i]],
    strategy, modality, model, repeat: c.n[i], outcome: OUTCOMES[c.o[i]], score: c.v[i], metric,
    reason: c.r[i] < 0 ? null : data.reasons[c.r[i]], question: example[2], prediction: read, raw,
    cut: rawLength > (raw ?? "").length || readLength > (read ?? "").length,
    references, parts, checks: Object.fromEntries(checks), flags,
    tags: Object.fromEntries(example[4].map((t) => data.tags[t])),
    latency_s: cost[0], prompt_tokens: cost[1], completion_tokens: cost[2], cost_usd: cost[3],
    prompt_digest: digest, note: page.notes()[id] ?? null, ...before,
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

// The clipboard is not there for every page; then a text is marked to be copied by hand.
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
// Given one of each axis, a run's node ids hold neither strategy, modality nor model.
const again = (i, detail) => {
  const { data, columns: c } = page, [strategy, modality, model] = detail[8], id = detail[0].split("/").slice(1, 4);
  const end = c.n[i] > 1 ? "-r" + c.n[i] : "";
  return ["pytest", "--model=" + model, "--bench-dataset=" + data.names[0][data.examples[c.e[i]][0]],
    "--bench-serializer=" + data.names[1][c.s[i]], "--bench-perturbation=" + data.names[2][c.p[i]],
    "--bench-strategy=" + strategy, "--bench-modality=" + modality, ...data.facts.again,
    "-k", "[" + id.join("-") + end + "]"].map(quoted).join(" ");
};
panel(55, (i, detail) => {
  const node = card("Again"), line = again(i, detail), bar = make("div", "copies");
  bar.append(copy("Copy the pytest line", () => line));
  if (page.columns.q[i] >= 0) bar.append(copy("Copy the prompt", async () => (await entry("q", page.columns.q[i]))[0]));
  node.append(page.said(line), bar);
  return [full(node)];
});
Object.assign(page, { save });
