import { ask, base, check, play, submit, until } from "./stage.mjs";

for (let i = 0; i < 250; i += 1) await submit({ id: `held-${i}`, type: "held-back", tags: ["many"] });

await play(async ({ page }) => {
  // All that match, after a dry run.
  await page.goto(`${base}/ui/jobs?type=held-back`);
  await until("they are counted", async () => (await page.textContent(".top")).includes("250 match"));
  await page.click("button:has-text('Cancel all that match')");
  await page.waitForSelector("dialog >> text=This concerns");
  check((await page.textContent("dialog")).includes("250"), "the dry run says how many");
  check((await ask("/job-count?type=held-back&state=ready")).jobs === 250, "and does nothing");
  await page.click("dialog button:has-text('Cancel them')");
  await until("it tells how far it is", async () => (await page.textContent("dialog [role=status]")).includes("250 of 250 done"));
  check((await ask("/job-count?type=held-back&state=cancelled")).jobs === 250, "all are cancelled");
  await page.keyboard.press("Escape");

  // The filter is the address, chip by chip.
  await page.fill("#search", "tag:many");
  await page.keyboard.press("Enter");
  await until("a chip is an address", async () => page.url().includes("tag=many"));
  await page.click("button[aria-label='remove the filter type']");
  await until("and goes with it", async () => !page.url().includes("type="));

  // Two people change the settings.
  await page.goto(`${base}/ui/settings`);
  await page.waitForSelector("#set-max_retry");
  await page.fill("#set-max_retry", "7");
  await ask("/config", { method: "PATCH", body: { max_retry: 4, retry_default: 2 }, headers: { "if-match": "*", "content-type": "application/merge-patch+json" } });
  await page.click("button:has-text('Save 1')");
  await page.waitForSelector("text=Somebody else changed the settings meanwhile");
  const told = await page.textContent("[role=alert]");
  check(told.includes("max_retry") && told.includes("retry_default") && told.includes("7"), "the difference is shown");
  check((await ask("/config")).max_retry === 4, "nothing was overwritten");
  await page.click("button:has-text('Keep my changes')");
  await page.click("button:has-text('Save 1')");
  await until("on top of theirs it is saved", async () => (await ask("/config")).max_retry === 7);
  check((await ask("/config")).retry_default === 2, "and theirs is kept");

  // A worker is drained.
  await page.goto(`${base}/ui/workers/w1`);
  await page.waitForSelector(".top .state");
  await page.keyboard.press("d");
  await until("it is drained", async () => (await ask("/workers/w1")).status === "draining");
  await until("the page says so", async () => (await page.textContent(".top .state")).includes("draining"));

  // What was done is in the audit.
  await page.goto(`${base}/ui/audit`);
  await until("the audit names it", async () => (await page.textContent("main table")).includes("worker drain"));
}, { expected: ["412"] });
