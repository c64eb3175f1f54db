import { ask, base, check, ended, part, play, submit, tell, until } from "./stage.mjs";

await submit({ id: "before", type: "exec", payload: { argv: ["echo", "hello"] } });
const run = await ask("/runs", { method: "POST", body: { run: "small", jobs: { a: { type: "exec", payload: { argv: ["true"] } } } } });
await ended("before");
await ended(run.jobs[0].id);

const views = { "": "Overview", jobs: "Jobs", "jobs/before": "before", runs: "Runs", [`runs/${part(run.run)}`]: run.run, workers: "Workers", "workers/w1": "w1", decisions: "Decisions", system: "System", settings: "Settings", audit: "Audit" };

await play(async ({ context }) => {
  const pages = [];
  for (const [view, title] of Object.entries(views)) {
    const page = await context.newPage();
    await page.goto(`${base}/ui/${view}`);
    await page.waitForSelector(`h1:text-is("${title}")`);
    // A page that is loaded anew would lose this.
    await page.evaluate(() => (window.mark = "same page"));
    pages.push({ view, page });
  }
  await until("all are live", async () => (await Promise.all(pages.map(({ page }) => page.textContent(".pulse")))).every((text) => text === "live"));
  await tell("restart");
  await submit({ id: "after", type: "exec", payload: { argv: ["echo", "again"] } });
  await ended("after");
  const { position } = await ask("/status");
  for (const { view, page } of pages) {
    await until(`/${view} is live again`, async () => (await page.textContent(".pulse")) === "live" && (await page.locator(".banner").count()) === 0);
    await until(`/${view} knows what happened since`, async () => Number((await page.textContent(".foot .who")).replace(/.*position /, "").replaceAll(",", "")) >= position);
    check((await page.evaluate(() => window.mark)) === "same page", `/${view} was not loaded anew`);
    check((await page.locator("main .failure").count()) === 0, `/${view} shows no failure`);
  }
  const jobs = pages.find(({ view }) => view === "jobs").page;
  await jobs.bringToFront();
  await until("the new job is in the list", async () => (await jobs.locator("td >> text=after").count()) === 1);
}, { expected: ["ERR_CONNECTION", "ERR_INCOMPLETE", "ERR_EMPTY", "Failed to load resource"] });
