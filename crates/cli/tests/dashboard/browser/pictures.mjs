import path from "node:path";
import { ask, base, check, ended, part, play, submit, until } from "./stage.mjs";

const folder = process.env.BELLWETHER_PICTURES;
const pause = (seconds) => ({ type: "exec", payload: { argv: ["sleep", String(seconds)] } });
const wave = (n, of) => Array.from({ length: n }, (_, i) => ({ ...pause(0.05 + ((i * 7) % 10) * 0.04), tags: ["batch"], ...of }));

const jobs = { fetch: pause(0.3) };
for (let i = 0; i < 5; i += 1) jobs[`clean-${i}`] = { ...pause(0.2 + i * 0.1), dependencies: ["fetch"] };
for (let i = 0; i < 12; i += 1) jobs[`shard-${i}`] = { ...pause(0.15 + i * 0.04), dependencies: Array.from({ length: 5 }, (_, k) => `clean-${k}`) };
jobs.merge = { ...pause(0.3), dependencies: Array.from({ length: 12 }, (_, k) => `shard-${k}`) };
jobs.train = { ...pause(0.8), dependencies: ["merge"] };
jobs.stats = { ...pause(0.4), dependencies: ["merge"] };
jobs.check = { type: "exec", retry: 0, payload: { argv: ["sh", "-c", "echo 'accuracy 0.71, wanted 0.80' >&2; exit 1"] }, dependencies: ["train"] };
jobs.publish = { ...pause(0.1), dependencies: ["check", "stats"] };

await submit({ id: "broken-report", type: "exec", retry: 1, payload: { argv: ["sh", "-c", "echo reading /data/report.csv; echo 'No such file' >&2; exit 2"] } });
await submit({ id: "needs-a-gpu", type: "render" });
const run = await ask("/runs", { method: "POST", body: { run: "nightly", jobs } });
for (let i = 0; i < 5; i += 1) {
  await ask("/submissions", { method: "POST", body: wave(60 + i * 10) });
  await until(`wave ${i} is nearly over`, async () => ((await ask("/status")).jobs.ready || 0) < 25);
}
await ended("broken-report");
await ended(run.jobs.at(-1).id);

const views = { overview: "", jobs: "jobs", job: "jobs/broken-report", runs: "runs", run: `runs/${part(run.run)}`, workers: "workers", worker: "workers/w1", decisions: "decisions", system: "system", settings: "settings", audit: "audit" };

await play(async ({ page }) => {
  await page.goto(`${base}/ui/`);
  await ask("/submissions", { method: "POST", body: wave(90) });
  for (const [name, view] of Object.entries(views)) {
    for (const scheme of name === "overview" || name === "run" ? ["light", "dark"] : ["light"]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(`${base}/ui/${view}`);
      await page.waitForSelector("h1");
      await until(`${name} in ${scheme}`, async () => (await page.textContent(".pulse")) === "live");
      await page.waitForTimeout(1500);
      await page.screenshot({ path: path.join(folder, `dashboard-${name}${scheme === "dark" ? "-dark" : ""}.png`) });
    }
  }
  check(true, "every view has its picture");
}, { width: 1280, height: 800 });
