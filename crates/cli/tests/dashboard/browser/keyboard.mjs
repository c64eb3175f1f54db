import { ask, base, check, ended, play, submit, until } from "./stage.mjs";

for (let i = 0; i < 30; i += 1) await submit({ type: "exec", payload: { argv: ["true"] } });
await submit({ id: "report", type: "exec", retry: 0, payload: { argv: ["sh", "-c", "echo looking; echo no such file >&2; exit 2"] } });
await ended("report");

await play(async ({ page }) => {
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const at = (path) => until(`at ${path}`, async () => page.url().startsWith(`${base}/ui/${path}`));
  await page.goto(`${base}/ui/`);
  await page.waitForSelector("h1:text('Overview')");
  await press("?");
  await page.waitForSelector("dialog[open] >> text=search and filter jobs");
  await press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });

  // Find it.
  await press("g", "j");
  await at("jobs");
  await page.waitForSelector("td >> text=completed");
  await press("f");
  await until("only what failed is shown", async () => (await page.locator("table.jobs tbody tr").count()) === 1);
  await press("Enter");
  await at("jobs/report");

  // See why.
  await until("it says why", async () => (await page.textContent("#why")).includes("dead-lettered"));
  await until("the error is told", async () => (await page.locator(".attempt .bad", { hasText: "no such file" }).count()) === 1);
  await until("what it printed is shown", async () => (await page.textContent("pre[aria-label='output of the job']")).includes("looking"));
  check((await page.locator(".candidate").count()) >= 1, "the candidates have bars");

  // Retry it as it is, which does not help; then mend it.
  await press("r");
  await until("it was tried twice", async () => (await ask("/jobs/report")).attempts.length === 2);
  await until("both attempts are shown", async () => (await page.locator(".attempt").count()) === 2);
  await press("e");
  await page.waitForSelector("dialog[open] textarea");
  await page.focus("#edited");
  await press("Control+a");
  await page.keyboard.insertText(JSON.stringify({ id: "report-mended", type: "exec", payload: { argv: ["echo", "all is well"] } }));
  await press("Control+Enter");
  await at("jobs/report-mended");
  await until("the mended job completed", async () => (await page.textContent(".top .state")).includes("completed"));
  await until("and printed", async () => (await page.textContent("pre[aria-label='output of the job']")).includes("all is well"));

  // Search by typing, and leave by keys.
  await press("/");
  await until("the search has the focus", async () => page.evaluate(() => document.activeElement?.id === "search"));
  await page.keyboard.type("type:exec");
  await press("Enter");
  await at("jobs?type=exec");
  await press("Escape", "t");
  check((await page.evaluate(() => document.documentElement.dataset.theme)) === "dark", "t makes it dark");
  for (const [key, view] of [["r", "runs"], ["w", "workers"], ["d", "decisions"], ["y", "system"], ["s", "settings"], ["a", "audit"]]) {
    await press("g", key);
    await at(view);
    await page.waitForSelector("h1");
  }
});
