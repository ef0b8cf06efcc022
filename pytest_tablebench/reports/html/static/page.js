"use strict";
// Texts of models and datasets reach the document through text nodes only.
(() => {
  const started = performance.now();
  const ROW = 56;
  const OUTCOMES = ["right", "wrong", "no_answer"];
  const MARKS = ["✓", "✕", "–"];
  const WORDS = ["right", "wrong", "no answer"];
  const SEARCHED = " The search looks at ids, configurations, reasons and the beginnings of questions, references and answers as they were read; whole texts are in the run folder.";
  const byId = (id) => document.getElementById(id);
  const list = byId("list"), spacer = byId("spacer"), dialog = byId("case"), body = byId("case-body");
  const search = byId("search"), shown = byId("shown");
  const selects = Object.fromEntries(["d", "s", "p", "t", "o", "f"].map((name) => [name, byId("f-" + name)]).filter((pair) => pair[1]));
  const count = (n) => n.toLocaleString("en-US");
  const counted = (n, noun) => count(n) + " " + noun + (n === 1 ? "" : "s");

  // Blocks: base64, deflate, JSON.
  const bytes = (text) => {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const raw = atob(text), out = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
    return out;
  };
  const cache = new Map();
  const block = (name) => {
    if (!cache.has(name)) {
      const source = byId("b-" + name);
      cache.set(name, source === null ? Promise.resolve(null) : unpack(source.textContent));
      if (cache.size > 40) cache.delete(cache.keys().next().value);
    }
    return cache.get(name);
  };
  const unpack = async (text) => {
    const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  };
  const entry = async (letter, size, place) => {
    const found = await block(letter + Math.floor(place / size));
    return found === null ? null : found[place % size];
  };

  // Characters that would hide, reorder or break what is read.
  const ODD = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;
  const code = (c) => "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  const write = (node, text, line) => {
    const value = line ? text.replace(/[\n\t]+/g, " ") : text;
    let last = 0;
    for (const found of value.matchAll(ODD)) {
      if (found.index > last) node.append(value.slice(last, found.index));
      node.append(make("span", "ctl", code(found[0])));
      last = found.index + found[0].length;
    }
    node.append(value.slice(last));
    return node;
  };
  const make = (tag, name, text) => {
    const node = document.createElement(tag);
    if (name) node.className = name;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const said = (text, tag = "pre") => {
    const node = write(make(tag, "said"), text);
    node.dir = "auto";
    node.tabIndex = 0;
    return node;
  };

  let data, columns, visible = [], active = -1, opened = -1;
  let haystacks, ids = null;

  // Filters.
  const matches = () => {
    const wanted = {};
    for (const [name, select] of Object.entries(selects)) {
      if (select.value !== "") wanted[name] = Number(select.value);
    }
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [];
    for (let i = 0; i < data.count; i++) {
      if (wanted.s !== undefined && columns.s[i] !== wanted.s) continue;
      if (wanted.p !== undefined && columns.p[i] !== wanted.p) continue;
      if (wanted.o !== undefined && columns.o[i] !== wanted.o) continue;
      if (wanted.f !== undefined && (columns.f[i] & wanted.f) === 0) continue;
      if (wanted.t !== undefined && !data.examples[columns.e[i]][4].includes(wanted.t)) continue;
      if (wanted.d !== undefined && data.examples[columns.e[i]][0] !== wanted.d) continue;
      if (words.length && !holds(i, words)) continue;
      found.push(i);
    }
    return found;
  };
  const holds = (i, words) => {
    const example = haystacks.examples[columns.e[i]], own = haystacks.cases[i];
    for (const word of words) if (!example.includes(word) && !own.includes(word)) return false;
    return true;
  };
  const prepare = () => {
    const [datasets, serializers, perturbations] = data.names;
    haystacks = {
      examples: data.examples.map(([d, id, question, references]) =>
        [datasets[d] + "/" + id, question, references].join("\n").toLowerCase()),
      cases: columns.a.map((answer, i) =>
        (columns.k[i] + "\n" + serializers[columns.s[i]] + "/" + perturbations[columns.p[i]] + "\n" + answer +
          (columns.r[i] >= 0 ? "\n" + data.reasons[columns.r[i]] : "")).toLowerCase()),
    };
  };
  const filter = () => {
    const from = performance.now();
    visible = matches();
    active = visible.length ? 0 : -1;
    list.scrollTop = 0;
    spacer.style.height = visible.length * ROW + "px";
    drawn.clear();
    spacer.replaceChildren();
    const of = visible.length === data.count ? "" : count(visible.length) + " of ";
    const right = visible.reduce((n, i) => n + (columns.o[i] === 0), 0);
    shown.textContent = of + counted(data.count, "case") + ", " + count(right) + " right";
    draw();
    document.documentElement.dataset.filterMs = (performance.now() - from).toFixed(1);
  };

  // Rows: only those in view are in the document.
  const drawn = new Map();
  const draw = () => {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 6);
    const last = Math.min(visible.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 6);
    for (const [place, node] of drawn) {
      if (place < first || place >= last) { node.remove(); drawn.delete(place); }
    }
    for (let place = first; place < last; place++) {
      if (!drawn.has(place)) {
        const node = row(place);
        drawn.set(place, node);
        spacer.append(node);
      }
      drawn.get(place).classList.toggle("active", place === active);
      drawn.get(place).setAttribute("aria-selected", String(place === active));
    }
    if (!visible.length && !spacer.firstChild) {
      spacer.append(make("p", "nothing", "No case matches." + (search.value.trim() ? SEARCHED : "")));
    }
    if (active >= 0) list.setAttribute("aria-activedescendant", "row-" + active);
    else list.removeAttribute("aria-activedescendant");
  };
  const row = (place) => {
    const i = visible[place], [d, id, question, ] = data.examples[columns.e[i]];
    const outcome = columns.o[i];
    const node = make("div", "row");
    node.id = "row-" + place;
    node.dataset.place = place;
    node.style.top = place * ROW + "px";
    node.setAttribute("role", "option");
    node.setAttribute("aria-setsize", visible.length);
    node.setAttribute("aria-posinset", place + 1);
    const dot = make("span", "dot " + OUTCOMES[outcome], MARKS[outcome]);
    dot.setAttribute("role", "img");
    dot.setAttribute("aria-label", WORDS[outcome]);
    const name = make("div", "id");
    name.append(write(make("b"), data.names[0][d] + " / " + id, true), " ");
    const again = columns.n[i] > 1 ? " · r" + columns.n[i] : "";
    const how = data.names[1][columns.s[i]] + " · " + data.names[2][columns.p[i]] + again;
    name.append(write(make("span"), how, true));
    const text = make("div", "text");
    text.append(write(make("bdi"), question.slice(0, 200), true));
    if (columns.a[i]) text.append(question ? " → " : "", write(make("em"), columns.a[i], true));
    const score = make("div", "score", columns.v[i] === null ? "" : columns.v[i].toFixed(2));
    if (columns.r[i] >= 0) score.append(write(make("small"), data.reasons[columns.r[i]], true));
    node.append(dot, name, score, text);
    return node;
  };
  const move = (place) => {
    if (!visible.length) return;
    active = Math.max(0, Math.min(visible.length - 1, place));
    const top = active * ROW;
    if (top < list.scrollTop) list.scrollTop = top;
    if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
    draw();
  };

  // One case.
  const card = (title, ...content) => {
    const node = make("section", "card");
    if (title) node.append(make("h3", "", title));
    node.append(...content);
    return node;
  };
  const full = (node) => { node.classList.add("full"); return node; };
  const fact = (label, value) => {
    const node = make("div");
    node.append(make("span", "", label), write(make("b"), String(value), true));
    return node;
  };
  const where = (file, what) => make("p", "hint", what + " " + file + " in the run folder" +
    (data.facts.folder ? " " : "") + (data.facts.folder ? "(" + data.facts.folder + ")" : "") + ".");
  const NUMBER = /^[-+$€£(]?[0-9][0-9.,]{0,30}[)%]?$/;
  // A table with merged cells: its lines, each with the cells that none covers.
  const merged = (lines) => {
    const node = make("table", "merged"), parts = { thead: make("thead"), tbody: make("tbody"), tfoot: make("tfoot") };
    for (const [kind, cells] of lines) {
      const tr = make("tr", "is-" + kind);
      for (const [text, down, across, head, level] of cells) {
        const td = make(head ? "th" : "td", level ? "in" + level : !head && NUMBER.test(text) ? "n" : "");
        td.rowSpan = down;
        td.colSpan = across;
        td.dir = "auto";
        tr.append(text === null ? td : write(td, text));
      }
      parts[kind === "caption" || kind === "head" ? "thead" : kind === "note" ? "tfoot" : "tbody"].append(tr);
    }
    node.append(...Object.values(parts));
    return node;
  };
  const table = ([title, header, rows, rowCount, width, lines]) => {
    const box = make("div");
    if (title !== null) box.append(write(make("p", "lead"), title, true));
    const frame = make("div", "shown"), node = make("table"), head = make("thead");
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", "Table");
    const numeric = header.map((_, j) => rows.length > 0 &&
      rows.every((r) => r[j] === null || r[j] === undefined || r[j] === "" || NUMBER.test(r[j])));
    const line = (cells, tag) => {
      const tr = make("tr");
      cells.forEach((cell, j) => {
        const td = make(tag, numeric[j] ? "n" : "");
        td.dir = "auto";
        if (cell === null) td.append(make("span", "null", "None"));
        else write(td, cell);
        tr.append(td);
      });
      return tr;
    };
    head.append(line(header, "th"));
    const tbody = make("tbody");
    tbody.append(...rows.map((r) => line(r, "td")));
    node.append(head, tbody);
    frame.append(lines ? merged(lines) : node);
    box.append(frame);
    const rowsHere = lines ? lines.filter(([kind]) => kind === "row" || kind === "section").length : rows.length;
    const cut = rowCount > rowsHere || width > Math.max(header.length, ...rows.map((r) => r.length));
    if (cut) box.append(where("texts.jsonl.gz", "Shown in part: " + counted(rowCount, "row") + ", " + counted(width, "column") + " are whole in"));
    return box;
  };
  const exampleCards = async (i) => {
    const place = columns.t[i], example = data.examples[columns.e[i]];
    const found = place < 0 ? null : await entry("t", data.sizes[1], place);
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
      nodes.push(full(data.facts.texts
        ? where("texts.jsonl.gz", "The table is not in this page but in")
        : make("p", "hint", "This run kept no texts, so question and table are not here.")));
    }
    return nodes;
  };
  const replyCards = (i, detail) => {
    const [, raw, rawLength, read, readLength, references, referenceCount] = detail;
    const reply = card("Reply");
    if (raw === null) reply.append(make("p", "empty", "There was none: " + (data.reasons[columns.r[i]] ?? "no reason was kept") + "."));
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
  const factCard = (i, detail) => {
    const [, , , , , , , parts, facts, cost, , before, checks] = detail;
    const [strategy, modality, model, metric, flags] = facts;
    const [latency, prompt, completion, usd, stored] = cost;
    const line = make("div", "facts");
    const outcome = columns.o[i];
    const badge = make("span", "state tone-" + OUTCOMES[outcome], WORDS[outcome]);
    badge.id = "case-outcome";
    line.append(badge);
    if (columns.v[i] !== null) line.append(fact("score", columns.v[i]));
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
    for (const tag of data.examples[columns.e[i]][4]) rest.append(fact(...data.tags[tag]));
    if (stored) rest.append(fact("answer", "from the store"));
    const node = card("", line, rest);
    if (before) {
      const [outcome, , reason, told] = before;
      node.append(make("h3", "", "Before: " + WORDS[outcome] + (reason ? ", " + reason : "")), said((told === 1 ? detail[1] : told[0]) || "(no reply)"));
    }
    return full(node);
  };
  const picture = (file, alt) => {
    const number = data.facts.pictures[file];
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
  const chartCard = (detail) => {
    if (!detail[13]) return [];
    const [file, kind, shapes, here, all] = detail[13];
    const side = (caption, content) => {
      const node = make("figure");
      node.append(make("figcaption", "", caption), content);
      return node;
    };
    const values = (here < all ? "the first " + count(here) + " of " : "") + counted(all, "value");
    const both = make("div", "charts");
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
      const place = columns.q[i];
      const found = place < 0 ? null : await entry("q", data.sizes[2], place);
      if (found) {
        node.append(...pictured(found[0]));
        if (found[1] > found[0].length) node.append(where("texts.jsonl.gz", "Cut here: all " + count(found[1]) + " characters are in"));
      } else if (!digest) node.append(make("p", "empty", "No prompt was made."));
      else if (data.facts.texts) node.append(where("texts.jsonl.gz", "It is not in this page but under " + digest + " in"));
      else node.append(make("p", "empty", "This run kept no texts; its digest is " + digest + "."));
    });
    return node;
  };
  const SPEAKERS = {system: "System message", user: "The model is told", reply: "It replies", program: "A program is run", output: "It prints", drawn: "Read as this tree"};
  const transcriptCard = async (i) => {
    if (columns.h[i] < 0) return [];
    const node = card("Step by step");
    for (const [who, text, length] of await entry("q", data.sizes[2], columns.h[i])) {
      node.append(make("h3", "", SPEAKERS[who] ?? "Further"), said(text === "" ? "(nothing)" : text));
      if (length > text.length) node.append(where("texts.jsonl.gz", "Cut here: all " + count(length) + " characters are in"));
    }
    return [full(node)];
  };
  const open = async (i) => {
    opened = i;
    const detail = await entry("d", data.sizes[0], i);
    const nodes = await exampleCards(i), steps = await transcriptCard(i);
    if (opened !== i) return;
    byId("case-title").replaceChildren();
    write(byId("case-title"), detail[0], true);
    body.replaceChildren(factCard(i, detail), ...nodes, ...chartCard(detail), ...replyCards(i, detail), ...steps, promptCard(i, detail));
    byId("before").disabled = visible.indexOf(i) <= 0;
    byId("after").disabled = visible.indexOf(i) === visible.length - 1;
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    byId("case-title").focus();
    remember("#case=" + encodeURIComponent(detail[0].toWellFormed ? detail[0].toWellFormed() : detail[0]));
  };
  const remember = (hash) => {
    try { history.replaceState(null, "", hash || location.pathname + location.search); } catch { /* a frame may forbid it */ }
  };
  const step = (by) => {
    const place = visible.indexOf(opened) + by;
    if (place < 0 || place >= visible.length) return;
    move(place);
    open(visible[place]);
  };
  const show = (id) => {
    if (ids === null) ids = new Map(columns.k.map((key, i) => [key, i]));
    const i = ids.get(id);
    if (i === undefined) return;
    if (!visible.includes(i)) clear();
    move(visible.indexOf(i));
    open(i);
  };
  const clear = () => {
    search.value = "";
    for (const select of Object.values(selects)) select.value = "";
    filter();
  };

  // What people do.
  const listen = () => {
    let waiting = 0;
    search.addEventListener("input", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(filter); });
    for (const select of Object.values(selects)) select.addEventListener("change", filter);
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("clear").addEventListener("click", clear);
    list.addEventListener("scroll", draw, { passive: true });
    window.addEventListener("resize", draw);
    list.addEventListener("click", (event) => {
      const node = event.target.closest(".row");
      if (node) { move(Number(node.dataset.place)); open(visible[active]); }
    });
    list.addEventListener("keydown", (event) => {
      const page = Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
      const to = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: visible.length - 1 }[event.key];
      if (to !== undefined) { event.preventDefault(); move(to); }
      if ((event.key === "Enter" || event.key === " ") && active >= 0) { event.preventDefault(); open(visible[active]); }
    });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key === "/" && !typing && !dialog.open) { event.preventDefault(); search.focus(); search.select(); }
      if (dialog.open && event.key === "ArrowLeft") step(-1);
      if (dialog.open && event.key === "ArrowRight") step(1);
    });
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "ArrowDown") { event.preventDefault(); list.focus(); }
      if (event.key === "Escape") { event.preventDefault(); search.value = ""; filter(); list.focus(); }
    });
    byId("before").addEventListener("click", () => step(-1));
    byId("after").addEventListener("click", () => step(1));
    byId("close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.addEventListener("close", () => { opened = -1; remember(""); list.focus({ preventScroll: true }); });
    document.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      if (button.dataset.case !== undefined) show(button.dataset.case);
      const chosen = Object.keys(selects).filter((name) => button.dataset[name] !== undefined);
      if (chosen.length) {
        search.value = "";
        for (const [name, select] of Object.entries(selects)) select.value = button.dataset[name] ?? "";
        filter();
        byId("cases").scrollIntoView();
        list.focus({ preventScroll: true });
      }
    });
    window.addEventListener("hashchange", linked);
  };
  const linked = () => {
    if (!location.hash.startsWith("#case=")) return;
    try { show(decodeURIComponent(location.hash.slice(6))); } catch { /* no such case */ }
  };

  const begin = async () => {
    try {
      data = await block("index");
      columns = data.columns;
      prepare();
      listen();
      filter();
      linked();
      document.documentElement.dataset.readyMs = (performance.now() - started).toFixed(1);
    } catch (error) {
      shown.textContent = "The cases could not be unpacked: " + error;
    }
  };
  begin();
})();
