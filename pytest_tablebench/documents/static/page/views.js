// Further views of the same cases, next to the list.
const { byId, declare, make, set, watch } = page;
const views = new Map();
let dirty = true;

// A view: `draw(box)` fills an empty box when the view is shown and when `page.visible` changes.
const view = (key, label, draw) => {
  const box = make("div", "view");
  box.id = "view-" + key;
  box.hidden = true;
  views.set(key, { label, draw, box });
};
const show = () => {
  const now = views.has(page.state.view) ? page.state.view : "";
  byId("listed").hidden = now !== "";
  for (const node of byId("views").children) node.setAttribute("aria-pressed", String(node.value === now));
  for (const [key, { draw, box }] of views) {
    box.hidden = key !== now;
    if (key === now && dirty) { box.replaceChildren(); draw(box); dirty = false; }
  }
};
declare("view");
page.ready(() => {
  if (!views.size) return;
  for (const [key, label] of [["", "List"], ...[...views].map(([name, one]) => [name, one.label])]) {
    const button = make("button", "quiet", label);
    Object.assign(button, { type: "button", value: key });
    button.addEventListener("click", () => set({ view: key }));
    byId("views").append(button);
  }
  for (const { box } of views.values()) byId("listed").after(box);
  watch(["view"], () => { dirty = true; show(); });
  page.whenVisible(() => { dirty = true; show(); });
});
Object.assign(page, { view });
