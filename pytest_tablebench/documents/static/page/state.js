// The state of the page: an object of texts, stored in the address.
const defaults = new Map(), watchers = [];
const known = (given) => Object.freeze(Object.fromEntries(
  [...defaults].map(([key, usual]) => [key, given.get(key) ?? usual])));
let state = Object.freeze({});

// Only declared keys are read from the address and written to it.
const declare = (key, usual = "") => {
  defaults.set(key, usual);
  state = Object.freeze({ ...state, [key]: usual });
};
// Calls `draw(state, changed)` when one of `keys` changes; `changed` is the set of changed keys.
const watch = (keys, draw) => watchers.push([keys, draw]);
const apply = (next) => {
  const changed = new Set([...defaults.keys()].filter((key) => next[key] !== state[key]));
  state = next;
  for (const [keys, draw] of watchers) if (keys.some((key) => changed.has(key))) draw(state, changed);
};
const address = () => {
  const out = new URLSearchParams([...defaults].map(([key]) => [key, state[key]]).filter(([key, value]) => value !== defaults.get(key)));
  return String(out) ? "#" + out : location.pathname + location.search;
};
// Adds an entry to the history, or replaces the last one.
const set = (changes, { replace = false } = {}) => {
  if (Object.keys(changes).every((key) => changes[key] === state[key])) return;
  apply(Object.freeze({ ...state, ...changes }));
  try { history[replace ? "replaceState" : "pushState"](null, "", address()); } catch { /* a frame may forbid it */ }
};
// Links to sections have no "=" and do not change the state.
const reread = () => {
  const text = location.hash.slice(1);
  if (text === "" || text.includes("=")) apply(known(new URLSearchParams(text)));
};
window.addEventListener("popstate", reread);
window.addEventListener("hashchange", reread);
// Links to sections scroll without replacing the state in the address.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']"), target = link && page.byId(link.getAttribute("href").slice(1));
  if (!target || !location.hash.includes("=")) return;
  event.preventDefault();
  target.scrollIntoView();
  if (target.tabIndex >= -1) target.focus({ preventScroll: true });
});
Object.defineProperty(page, "state", { get: () => state });
Object.assign(page, { declare, set, usual: (key) => defaults.get(key), watch, reread });
