// Unpack the index, read the address, and draw.
const begin = async () => {
  try {
    page.data = await page.block("index");
    page.columns = page.data.columns;
    page.reread();
    for (const act of page.waiting) act();
    page.choose();
    page.look();
    document.documentElement.dataset.readyMs = (performance.now() - page.started).toFixed(1);
    (window.requestIdleCallback ?? setTimeout)(page.searches.readAll, { timeout: 2000 });
  } catch (error) {
    page.byId("shown").textContent = "The cases could not be unpacked: " + error;
  }
};
begin();
