// A table with its marked cells: a long one shows its first rows and the rows around marked cells.
const { count, counted, make, write } = page;
const NUMBER = /^[-+$€£(]?[0-9][0-9.,]{0,30}[)%]?$/, ALL = 40, FIRST = 12, AROUND = 3, STEP = 200;
const same = (text) => text.trim().toLowerCase().replace(/(?<=\d),(?=\d{3})/g, "");

// Returns the places of rows to show first, in order.
const start = (rows, marked) => {
  if (rows.length <= ALL) return rows.map((_, at) => at);
  return rows.map((_, at) => at).filter((at) => at < FIRST || marked.some((place) => Math.abs(place - at) <= AROUND));
};
const reviewTable = (table, marked, gold, answers, title) => {
  const { header, rows, above, below, numbers, row_count: rowCount, column_count: width } = table;
  const box = make("div", "rv-table"), frame = make("div", "shown"), node = make("table"), head = make("thead"), body = make("tbody");
  if (title) box.append(write(make("p", "lead"), title, true));
  frame.tabIndex = 0;
  frame.setAttribute("role", "region");
  frame.setAttribute("aria-label", "Table");
  const isMarked = new Set(marked.map(([row, column]) => row + ":" + column));
  const golds = new Set(gold.map(same)), rivals = new Set(answers.map(same));
  const seen = { marked: false, gold: false, answer: false };
  const numeric = header.map((_, j) => rows.length > 0 && rows.every((r) => r[j] === null || r[j] === undefined || r[j] === "" || NUMBER.test(r[j])));
  const cellOf = (cell, j, row, tag) => {
    const td = make(tag, numeric[j] ? "n" : "");
    td.dir = "auto";
    if (cell === null) return td;
    if (cell.length > 300) {
      const inner = make("div", "rv-long");
      inner.tabIndex = 0;
      td.append(write(inner, cell));
    } else {
      write(td, cell);
      if (cell.length > 30) td.classList.add("rv-text");
    }
    if (isMarked.has(row + ":" + j)) { td.classList.add("is-marked"); seen.marked = true; }
    if (row >= 0 && cell) {
      if (golds.has(same(cell))) { td.classList.add("is-gold"); seen.gold = true; }
      else if (rivals.has(same(cell))) { td.classList.add("is-answer"); seen.answer = true; }
    }
    return td;
  };
  const line = (cells, row, tag, label) => {
    const tr = make("tr");
    tr.append(make(tag === "th" ? "td" : "th", "rv-number", label));
    cells.forEach((cell, j) => tr.append(cellOf(cell, j, row, tag)));
    return tr;
  };
  const number = (at) => numbers ? numbers[at] : at;
  const rowAt = (at) => line(rows[at], number(at), "td", count(number(at) + 1));
  const gap = (from, to) => {
    const tr = make("tr", "rv-gap"), td = make("td"), button = make("button", "quiet", "Show " + counted(Math.min(to - from, STEP), "more row"));
    if (to - from > STEP) td.append(make("span", "hint", counted(to - from, "row") + " hidden "));
    td.colSpan = Math.min(1000, header.length + 1);
    button.type = "button";
    button.addEventListener("click", () => {
      const end = Math.min(to, from + STEP), added = [];
      for (let at = from; at < end; at++) added.push(rowAt(at));
      if (end < to) added.push(gap(end, to));
      tr.replaceWith(...added);
      frame.focus({ preventScroll: true });
    });
    td.append(button);
    tr.append(td);
    return tr;
  };
  for (const cells of above) head.append(line(cells, -2, "th", ""));
  head.append(line(header, -1, "th", ""));
  const places = marked.map(([row]) => numbers ? numbers.indexOf(row) : row).filter((at) => at >= 0);
  let next = 0;
  for (const at of start(rows, places)) {
    if (at > next) body.append(gap(next, at));
    body.append(rowAt(at));
    next = at + 1;
  }
  if (next < rows.length) body.append(gap(next, rows.length));
  node.append(head, body);
  if (below.length) {
    const foot = make("tfoot");
    for (const cells of below) foot.append(line(cells, -2, "td", ""));
    node.append(foot);
  }
  frame.append(node);
  box.append(frame);
  const legend = make("p", "rv-legend");
  for (const [name, words] of [["marked", "matters for the evidence"], ["gold", "equals the gold"], ["answer", "equals another answer"]]) {
    if (seen[name]) legend.append(make("span", "is-" + name, words));
  }
  if (legend.childNodes.length) box.append(legend);
  if (rowCount > rows.length || width > Math.max(header.length, ...rows.map((r) => r.length))) {
    box.append(make("p", "hint", "Shown in part: the whole table has " + counted(rowCount, "row") + " and " + counted(width, "column") + "."));
  }
  return box;
};
// Scrolls a frame, not the page, to its first marked cell below the header.
const scrollToMark = (box) => {
  const frame = box.querySelector(".shown"), mark = box.querySelector("tbody .is-marked, tbody .is-gold");
  if (!mark) return;
  const inside = mark.getBoundingClientRect(), outer = frame.getBoundingClientRect();
  frame.scrollTop += Math.max(0, inside.bottom - outer.top - frame.clientHeight / 2);
  frame.scrollLeft += Math.max(0, inside.right - outer.left - frame.clientWidth + 20);
};
Object.assign(page, { reviewTable, scrollToMark });
