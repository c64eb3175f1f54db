import { ask, axePath, base, check, ended, part, play, submit, until } from "./stage.mjs";

const WIDTHS = [1440, 1024, 390];

await submit({ id: "fine", type: "exec", payload: { argv: ["echo", "hello"] } });
await submit({ id: "broken", type: "exec", retry: 0, payload: { argv: ["sh", "-c", "echo oops >&2; exit 1"] } });
await submit({ id: "stuck", type: "nobody-has-it" });
const run = await ask("/runs", { method: "POST", body: { run: "small", jobs: { a: { type: "exec", payload: { argv: ["true"] } }, b: { type: "exec", dependencies: ["a"], payload: { argv: ["true"] } } } } });
await ended("broken");
await ended(run.jobs[1].id);
await ask("/jobs/stuck/cancel", { method: "POST", body: {} });

const views = ["", "jobs", "jobs?state=failed", "jobs/fine", "jobs/broken", "runs", `runs/${part(run.run)}`, "workers", "workers/w1", "decisions", "system", "settings", "audit"];

await play(async ({ page, context }) => {
  await context.addInitScript({ path: axePath });
  let judged = 0;
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      for (const view of views) {
        await page.goto(`${base}/ui/${view}`);
        await page.waitForSelector("h1");
        await until(`${scheme} ${width} /${view}`, () => page.evaluate(() => document.querySelector(".pulse")?.textContent === "live" && !document.querySelector("main")?.textContent.includes("Reading…")));
        const found = await page.evaluate(async () => {
          const result = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
          return result.violations.map((violation) => `${violation.id}: ${violation.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
        });
        if (found.length) throw new Error(`${scheme} ${width} /${view}: ${found.join("\n")}`);
        const wider = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1);
        if (wider) throw new Error(`${scheme} ${width} /${view} is wider than the window`);
        judged += 1;
      }
    }
  }
  check(judged === views.length * WIDTHS.length * 2, `${judged} pages without a violation`);
  // Every chart has a table beside it.
  await page.setViewportSize({ width: 1440, height: 900 });
  for (const view of ["", `runs/${part(run.run)}`, "workers"]) {
    await page.goto(`${base}/ui/${view}`);
    await page.waitForSelector("figure.chart, canvas.board");
    const charts = await page.locator("figure.chart, canvas.board").count();
    const twins = await page.locator("button:text-is('table')").count();
    check(twins >= charts, `${charts} charts of /${view} have a table each`);
    await page.locator("button:text-is('table')").first().click();
    await page.waitForSelector(".scroll table");
  }
}, {});
