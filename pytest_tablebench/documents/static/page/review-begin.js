// Unpack the index and open the first item without a verdict.
const begin = async () => {
  try {
    page.data = await page.block("index");
    page.columns = page.data.columns;
    for (const act of page.waiting) act();
    const first = page.data.columns.id.findIndex((_, i) => !page.isDone(i));
    if (page.data.count) page.show(Math.max(0, first));
    else page.byId("content").append(page.make("p", "empty", "There is nothing to look at."));
    document.documentElement.dataset.readyMs = (performance.now() - page.started).toFixed(1);
  } catch (error) {
    page.byId("content").textContent = "The page could not be unpacked: " + error;
  }
};
page.started = performance.now();
begin();
