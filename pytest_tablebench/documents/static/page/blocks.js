// The data of the page, in blocks of base64, deflate and JSON.
const { byId, make } = page;
// Functions that need the cases run once these are unpacked, in this order.
const waiting = [];
const ready = (act) => waiting.push(act);
const bytes = (text) => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
};
const cache = new Map();
const block = (name, keep = true) => {
  if (!keep && !cache.has(name)) return unpack(byId("b-" + name).textContent);
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
// First letters of the ids of blocks.
const LETTERS = { details: "d", tables: "t", prompts: "q" };
const entry = async (kind, place) => {
  const size = page.data.sizes[kind], values = await block(LETTERS[kind] + Math.floor(place / size));
  return values === null ? null : values[place % size];
};

// A hint that names the file with the whole text.
const where = (file, what) => make("p", "hint", what + " " + file + " in the run folder" +
  (page.data.facts.folder ? " (" + page.data.facts.folder + ")" : "") + ".");
Object.assign(page, { LETTERS, block, entry, ready, waiting, where });
