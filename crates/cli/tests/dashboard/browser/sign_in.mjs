import { base, check, link, play, tell, token, until } from "./stage.mjs";

await play(async ({ page, context }) => {
  const asked = [];
  const streams = [];
  context.on("request", (request) => {
    asked.push(request.url());
    if (request.url().endsWith("/scheduler/summary")) streams.push(request.url());
  });
  await page.goto(link);
  await page.waitForSelector("h1:text('Overview')");
  await until("it is live", async () => (await page.textContent(".pulse")) === "live");
  check(page.url() === `${base}/ui/`, "the ticket is no longer in the address");
  check(!asked.some((url) => url.includes("ticket=")), "the ticket was in no request's address");
  check(!asked.some((url) => url.includes(token)), "the token was in no request's address");
  check((await page.evaluate(() => sessionStorage.getItem("bellwether-token"))) === token, "the token is in the tab's session");
  check((await page.evaluate(() => JSON.stringify(localStorage))).includes(token) === false, "and nowhere else");
  check(asked.every((url) => url.startsWith(base)), "nothing came from elsewhere");

  // A second tab is signed in by the first, and listens to its connection.
  const second = await context.newPage();
  await second.goto(`${base}/ui/jobs`);
  await second.waitForSelector("h1:text('Jobs')");
  await until("the second tab is live", async () => (await second.textContent(".pulse")) === "live");
  check(streams.length === 1, "two tabs share one connection");
  await page.close();
  await until("the second tab goes on when the first is closed", async () => streams.length === 2);
  await until("and is live", async () => (await second.textContent(".pulse")) === "live");
  await second.close();

  // Whoever finds the link later is not let in.
  const later = await context.newPage();
  await later.goto(link);
  await later.waitForSelector("#token");
  check(true, "the same link signs in nobody else");
  await later.goto("about:blank");
  await later.goto(await tell("link"));
  await later.waitForSelector("h1:text('Overview')");
  check(true, "`bellwether open` makes a new one");
  await later.click("text=sign out");
  await later.waitForSelector("#token");
  check(!(await later.evaluate(() => sessionStorage.getItem("bellwether-token"))), "signing out forgets the token");
  await later.fill("#token", "wrong");
  await later.keyboard.press("Enter");
  await later.waitForSelector("[role=alert]");
  await later.fill("#token", token);
  await later.keyboard.press("Enter");
  await later.waitForSelector("h1:text('Overview')");
  check(true, "a token lets in by hand");

  const first = await fetch(`${base}/`, { redirect: "manual" });
  check(first.status === 307 && first.headers.get("location") === "/ui/", "/ leads to the dashboard");
  const policy = (await fetch(`${base}/ui/`)).headers.get("content-security-policy");
  check(policy.includes("default-src 'none'") && policy.includes("require-trusted-types-for 'script'") && !policy.includes("unsafe"), "the policy is strict");
}, { signedIn: false, expected: ["401", "410"] });
