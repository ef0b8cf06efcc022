// Tables as the model received them, with merged cells.
const { count, counted, make, where, write } = page;
const NUMBER = /^[-+$€£(]?[0-9][0-9.,]{0,30}[)%]?$/;
// A table with merged cells: each line has the cells that no merged cell covers.
const merged = (lines) => {
  const node = make("table", "merged"), parts = { thead: make("thead"), tbody: make("tbody"), tfoot: make("tfoot") };
  for (const { kind, cells } of lines) {
    const tr = make("tr", "is-" + kind);
    for (const { text, down = 1, across = 1, is_header: isHeader, level } of cells) {
      const td = make(isHeader ? "th" : "td", level ? "in" + level : !isHeader && NUMBER.test(text) ? "n" : "");
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
const table = ({ title, header, rows, row_count: rowCount, column_count: width, lines }) => {
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
      if (cell !== null) write(td, cell);
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
  const rowsHere = lines ? lines.filter(({ kind }) => kind === "row" || kind === "section").length : rows.length;
  const cut = rowCount > rowsHere || width > Math.max(header.length, ...rows.map((r) => r.length));
  if (cut) box.append(where("texts.jsonl.gz", "Shown in part. The whole table, with " + counted(rowCount, "row") + " and " + counted(width, "column") + ", is in"));
  return box;
};
Object.assign(page, { table });
