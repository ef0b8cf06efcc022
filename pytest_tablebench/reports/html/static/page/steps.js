// Panels of a case: chart, steps and prompt.
const { byId, card, count, counted, entry, fact, full, make, said, where } = page;
const picture = (file, alt) => {
  const number = page.data.facts.pictures[file];
  if (number === undefined) return where("media/" + file, "The picture is not in this page but in");
  const node = make("img", "picture");
  const kind = file.split(".")[1].replace("jpg", "jpeg");
  node.src = "data:image/" + kind + ";base64," + byId("b-m" + number).textContent.trim();
  node.alt = alt;
  return node;
};
// A line of a prompt that names a picture of this run is shown as that.
const pictured = (text) => text.split(/\n\[image ([0-9a-f]{64}\.(?:png|jpg|gif|webp))\]\n/).flatMap((part, i) =>
  i % 2 ? [picture(part, "The picture that the model was shown")] : part ? [said(part)] : []);
// Shapes are numbers of our own; the texts among them are numbers too.
const drawing = (shapes, label) => {
  const svg = (tag, name, values) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    if (name) node.setAttribute("class", name);
    for (const [key, value] of Object.entries(values)) node.setAttribute(key, value);
    return node;
  };
  const root = svg("svg", "expected", { viewBox: "0 0 360 216", role: "img", "aria-label": label });
  for (const [tag, name, values, text] of shapes) {
    const node = svg(tag, name, values);
    if (text !== undefined) node.textContent = text;
    root.append(node);
  }
  return root;
};
const chartCard = (i, detail) => {
  if (!detail[13]) return [];
  const [file, kind, shapes, here, all] = detail[13];
  const side = (caption, content) => {
    const node = make("figure");
    node.append(make("figcaption", "", caption), content);
    return node;
  };
  const values = (here < all ? "the first " + count(here) + " of " : "") + counted(all, "value");
  const both = make("div", "charts");
  const before = detail[11]?.[4];
  if (before) both.append(side("Drawn before", picture(before, "The chart that the program of the run before drew")));
  both.append(
    side("Drawn by the program", file ? picture(file, "The chart that the program drew") : make("p", "empty", "Nothing was drawn.")),
    side("Expected: " + kind + ", " + values, shapes.length ? drawing(shapes, "The expected values as a chart: " + kind)
      : make("p", "empty", "The expected values are no numbers that can be drawn.")));
  return [full(card("Chart", both))];
};
const promptCard = (i, detail) => {
  const node = make("details", "card full"), digest = detail[10];
  node.append(make("summary", "", "Prompt"));
  node.addEventListener("toggle", async () => {
    if (!node.open || node.childElementCount > 1) return;
    const place = page.columns.q[i];
    const found = place < 0 ? null : await entry("q", place);
    if (found) {
      node.append(...pictured(found[0]));
      if (found[1] > found[0].length) node.append(where("texts.jsonl.gz", "Cut here: all " + count(found[1]) + " characters are in"));
    } else if (!digest) node.append(make("p", "empty", "No prompt was made."));
    else if (page.data.facts.texts) node.append(where("texts.jsonl.gz", "It is not in this page but under " + digest + " in"));
    else node.append(make("p", "empty", "This run kept no texts; its digest is " + digest + "."));
  });
  return [node];
};
const SPEAKERS = {system: "System message", user: "The model is told", reply: "It replies", program: "A program is run", output: "It prints", drawn: "Read as this tree"};
// What is known of a step: who was asked, how it ended, what it took.
const took = ([, outcome, model, seconds, prompt, completion, usd, stored]) => {
  const line = make("div", "facts hint");
  for (const [label, value] of [["ended", outcome], ["model", model], ["seconds", seconds], ["prompt tokens", prompt],
    ["completion tokens", completion], ["cost", usd === null ? null : "$" + usd], ["from", stored ? "the store" : null]]) {
    if (value !== null) line.append(fact(label, value));
  }
  return line;
};
// Turns are what was said; the steps behind them, in the same order, what it took. A judge's words
// are in his step alone.
const transcriptCard = async (i, detail) => {
  const turns = page.columns.h[i] < 0 ? [] : await entry("q", page.columns.h[i]);
  const waiting = [...detail[14]];
  const next = (kind) => {
    const place = waiting.findIndex((step) => step[0] === kind);
    return place < 0 ? undefined : waiting.splice(place, 1)[0];
  };
  const list = make("ol", "steps");
  const add = (title, text, length, file, step) => {
    const node = make("li");
    node.append(make("h3", "", title), ...(text === null ? [] : text === "" ? [said("(nothing)")] : pictured(text)));
    if (text !== null && length > text.length) node.append(where(file, "Cut here: all " + count(length) + " characters are in"));
    if (step?.[8]) node.append(picture(step[8], "What the program drew"));
    if (step) node.append(took(step));
    list.append(node);
  };
  for (const [who, text, length] of turns) {
    add(SPEAKERS[who] ?? "Further", text, length, "texts.jsonl.gz", who === "reply" ? next("ask") : who === "output" ? next("execute") : undefined);
  }
  if (!turns.length) for (const step of detail[14]) if (step[0] !== "judge") add(step[0] === "ask" ? "A question" : "A program is run", null, 0, "", step);
  for (const step of detail[14]) if (step[0] === "judge") add("The judge says", step[9], step[10], "records.jsonl", step);
  return list.childElementCount ? [full(card("Step by step", list))] : [];
};
page.panel(30, chartCard);
page.panel(50, transcriptCard);
page.panel(60, promptCard);
