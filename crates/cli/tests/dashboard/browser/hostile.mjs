import { ask, base, check, ended, part, play, submit, until } from "./stage.mjs";

const MARKUP = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>\"'`${1}";
const CONTROL = "a\u0007b\u001b[31mc\u202ed\u0000";
const ID = `<img src=x onerror=window.hacked=1>"'&`;
const TYPE = "<svg/onload=window.hacked=1>";

await submit({ id: ID, type: "exec", tags: ["<b>tag</b>"], payload: { argv: ["sh", "-c", `printf '%s\\n' "$MARK" "$CTL"; printf '%s' "$MARK" >&2; exit 3`], env: { MARK: MARKUP, CTL: CONTROL.replaceAll("\u0000", "") } }, retry: 0 });
await submit({ id: `javascript:window.hacked=1`, type: TYPE, payload: { "</script><script>window.hacked=1</script>": MARKUP } });
await ask("/runs", { method: "POST", body: { run: "<i>run", jobs: { "<b>node": { type: "exec", payload: { argv: ["true"] } }, "b\u202e": { type: "exec", dependencies: ["<b>node"], payload: { argv: ["true"] } } } } }).catch(() => console.log("  such a run is refused"));
await ended(ID);

await play(async ({ page }) => {
  const runs = (await ask("/runs")).runs.map((run) => `runs/${part(run.id)}`);
  const views = ["", "jobs", `jobs/${part(ID)}`, `jobs/${part("javascript:window.hacked=1")}`, `jobs?type=${part(TYPE)}`, `jobs?tag=${part("<b>tag</b>")}`, "runs", ...runs, "workers", `workers/${part(MARKUP)}`, "decisions", "system", "audit", `jobs/${part(MARKUP)}`];
  for (const view of views) {
    await page.goto(`${base}/ui/${view}`);
    await page.waitForSelector("h1");
    await page.waitForTimeout(300);
    const seen = await page.evaluate(() => ({ hacked: window.hacked, images: document.querySelectorAll("main img, main script, main svg, main b i").length }));
    check(seen.hacked === undefined && seen.images === 0, `nothing ran at ${view.slice(0, 50)}`);
  }
  await page.goto(`${base}/ui/jobs/${part(ID)}`);
  await until("the id is shown as text", async () => (await page.textContent("h1")) === ID);
  const output = await until("so is what it printed", async () => {
    const text = await page.textContent("pre[aria-label='output of the job']");
    return text.includes("<script>window.hacked=1</script>") && text;
  });
  check(!/[\u0007\u001b\u202e]/.test(output), "control characters are named");
  check(output.includes("\u2407") && output.includes("\\u{202e}"), "and can be seen");
  // What the policy forbids can't be done even by code of the page.
  const refused = await page.evaluate(() => {
    try {
      document.createElement("div").innerHTML = "<p>";
      return false;
    } catch {
      return true;
    }
  });
  check(refused, "texts can't become markup");
}, { expected: ["404", "TrustedHTML", "400"] });
