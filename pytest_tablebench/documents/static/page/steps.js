// Panels of a case: chart, steps and prompt.
const { byId, card, count, counted, entry, fact, full, make, said, svg, where } = page;
const picture = (file, alt) => {
  const number = page.data.facts.pictures[file];
  if (number === undefined) return where("media/" + file, "The picture is not on this page; it is in");
  const node = make("img", "picture");
  const kind = file.split(".")[1].replace("jpg", "jpeg");
  node.src = "data:image/" + kind + ";base64," + byId("b-m" + number).textContent.trim();
  node.alt = alt;
  return node;
};
// A line of a prompt that names a picture of this run is shown as the picture.
const pictured = (text) => text.split(/\n\[image ([0-9a-f]{64}\.(?:png|jpg|gif|webp))\]\n/).flatMap((part, i) =>
  i % 2 ? [picture(part, "A picture that the model was sent")] : part ? [said(part)] : []);
// Shapes contain only numbers, also in their texts.
const drawing = (shapes, label) => {
  const root = svg("svg", "expected", { viewBox: "0 0 360 216", role: "img", "aria-label": label });
  root.append(...shapes.map(({ name, style, values, text }) => svg(name, style, values, text)));
  return root;
};
const chartCard = (i, detail) => {
  if (!detail.chart) return [];
  const { picture: file, kind, shapes, drawn: here, count: all } = detail.chart;
  const side = (caption, content) => {
    const node = make("figure");
    node.append(make("figcaption", "", caption), content);
    return node;
  };
  const values = (here < all ? "the first " + count(here) + " of " : "") + counted(all, "value");
  const both = make("div", "charts");
  const before = detail.before?.picture;
  if (before) both.append(side("Drawn before", picture(before, "The chart that the program of the run before drew")));
  both.append(
    side("Drawn by the program", file ? picture(file, "The chart that the program drew") : make("p", "empty", "Nothing was drawn.")),
    side("Expected: " + kind + ", " + values, shapes.length ? drawing(shapes, "The expected values as a chart: " + kind)
      : make("p", "empty", "The expected values are not numbers that can be drawn.")));
  return [full(card("Chart", both))];
};
const promptCard = (i, detail) => {
  const node = make("details", "card full"), digest = detail.prompt_digest;
  node.append(make("summary", "", "Prompt"));
  node.addEventListener("toggle", async () => {
    if (!node.open || node.childElementCount > 1) return;
    const place = page.columns.prompt[i];
    const prompt = place < 0 ? null : await entry("prompts", place);
    if (prompt) {
      node.append(...pictured(prompt.text));
      if (prompt.length > prompt.text.length) node.append(where("texts.jsonl.gz", "Cut here: all " + count(prompt.length) + " characters are in"));
    } else if (!digest) node.append(make("p", "empty", "No prompt was made."));
    else if (page.data.facts.texts) node.append(where("texts.jsonl.gz", "The prompt is not on this page; it is under " + digest + " in"));
    else node.append(make("p", "empty", "This run stored no texts. The prompt has the digest " + digest + "."));
  });
  return [node];
};
const SPEAKERS = {system: "System message", user: "User message", reply: "Reply", program: "Program", output: "Output of the program", drawn: "Read as this tree"};
// The facts of a step: model, end, time, tokens, cost.
const took = (step) => {
  const line = make("div", "facts hint");
  for (const [label, value] of [["ended", step.outcome], ["model", step.model], ["seconds", step.latency], ["prompt tokens", step.prompt_tokens],
    ["completion tokens", step.completion_tokens], ["cost", step.cost === undefined ? undefined : "$" + step.cost],
    ["from", step.from_store ? "the store" : undefined]]) {
    if (value !== undefined) line.append(fact(label, value));
  }
  return line;
};
// Turns have the texts, steps the facts, in the same order. The text of a judge is only in its step.
const transcriptCard = async (i, detail) => {
  const transcript = page.columns.transcript[i] < 0 ? null : await entry("prompts", page.columns.transcript[i]);
  const turns = transcript?.turns ?? [];
  const waiting = [...detail.steps];
  const next = (kind) => {
    const place = waiting.findIndex((step) => step.kind === kind);
    return place < 0 ? undefined : waiting.splice(place, 1)[0];
  };
  const list = make("ol", "steps");
  const add = (title, text, length, file, step) => {
    const node = make("li");
    node.append(make("h3", "", title), ...(text === null ? [] : text === "" ? [said("(nothing)")] : pictured(text)));
    if (text !== null && length > text.length) node.append(where(file, "Cut here: all " + count(length) + " characters are in"));
    if (step?.picture) node.append(picture(step.picture, "What the program drew"));
    if (step) node.append(took(step));
    list.append(node);
  };
  for (const { role, text, length } of turns) {
    add(SPEAKERS[role] ?? "Further", text, length, "texts.jsonl.gz", role === "reply" ? next("ask") : role === "output" ? next("execute") : undefined);
  }
  if (!turns.length) for (const step of detail.steps) if (step.kind !== "judge") add(step.kind === "ask" ? "Call to the model" : "Program", null, 0, "", step);
  for (const step of detail.steps) if (step.kind === "judge") add("Reply of the judge", step.text, step.length, "records.jsonl", step);
  return list.childElementCount ? [full(card("Step by step", list))] : [];
};
page.panel(30, chartCard);
page.panel(50, transcriptCard);
page.panel(60, promptCard);
