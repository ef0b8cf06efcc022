// One case: panels in a dialog, with buttons to the next and the previous case.
const { byId, declare, entry, set, watch, write } = page;
const dialog = byId("case"), body = byId("case-body"), title = byId("case-title");
const panels = [];
let opened = -1;

// A panel: `make(i, detail)` returns nodes, or a promise of them. Panels are sorted by `order`.
const panel = (order, make) => {
  panels.push([order, make]);
  panels.sort(([a], [b]) => a - b);
};
declare("case");
const open = (i) => set({ case: page.idOf(i) }, { replace: dialog.open });
const show = async (i) => {
  opened = i;
  const detail = await entry("details", i);
  const nodes = await Promise.all(panels.map(([, make]) => make(i, detail)));
  if (opened !== i) return;
  const place = page.visible.indexOf(i);
  title.replaceChildren();
  write(title, detail.id, true);
  body.replaceChildren(...nodes.flat());
  byId("before").disabled = place <= 0;
  byId("after").disabled = place < 0 || place === page.visible.length - 1;
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  title.focus();
};
const look = () => {
  const i = page.numberOf(page.state.case);
  if (i === undefined) {
    opened = -1;
    if (dialog.open) dialog.close();
  } else {
    page.reveal(i);
    show(i);
  }
};
const step = (by) => {
  const place = page.visible.indexOf(opened);
  if (place >= 0 && place + by >= 0 && place + by < page.visible.length) open(page.visible[place + by]);
};

page.ready(() => watch(["case"], look));
byId("before").addEventListener("click", () => step(-1));
byId("after").addEventListener("click", () => step(1));
byId("close").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
dialog.addEventListener("close", () => { set({ case: "" }); byId("list").focus({ preventScroll: true }); });
document.addEventListener("keydown", (event) => {
  if (!dialog.open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  if (event.key === "ArrowLeft") step(-1);
  if (event.key === "ArrowRight") step(1);
});
// Buttons that open a case, which the filters may hide: <button data-case="ID">.
document.addEventListener("click", (event) => {
  const i = page.numberOf(event.target.closest("button")?.dataset.case);
  if (i !== undefined) set({ ...(page.visible.includes(i) ? {} : page.cleared()), case: page.idOf(i) });
});
Object.assign(page, { look, open, panel });
