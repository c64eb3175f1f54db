// A browser, the scheduler that it looks at, and ways to say what must hold.
import { createRequire } from "node:module";
import readline from "node:readline";

const packages = createRequire(`${process.env.BELLWETHER_PACKAGES}/`);
const { chromium } = packages("playwright-core");
export const axePath = packages.resolve("axe-core/axe.min.js");

export const base = process.env.BELLWETHER_HTTP;
export const token = process.env.BELLWETHER_TOKEN;
export const link = process.env.BELLWETHER_LINK;

const ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-precise-memory-info", "--js-flags=--expose-gc"];
const DEADLINE = 30_000;

const input = readline.createInterface({ input: process.stdin });
const answers = input[Symbol.asyncIterator]();

/** Asks the test around this script: restart, link. */
export async function tell(word) {
  console.log(`> ${word}`);
  return (await answers.next()).value;
}

export function check(holds, words) {
  if (!holds) throw new Error(`must hold: ${words}`);
  console.log(`  ${words}`);
}

/** Waits for a condition, up to a deadline. */
export async function until(words, condition, deadline = DEADLINE) {
  const end = Date.now() + deadline;
  for (;;) {
    const found = await condition().catch(() => null);
    if (found) {
      console.log(`  ${words}`);
      return found;
    }
    if (Date.now() > end) throw new Error(`in vain: ${words}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export async function ask(path, { method = "GET", body, headers = {} } = {}) {
  const response = await fetch(`${base}/scheduler${path}`, {
    method, headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

export const submit = (job) => ask("/jobs", { method: "POST", body: job });
export const part = encodeURIComponent;

export const ended = (id) => until(`${JSON.stringify(id).slice(0, 60)} has ended`, async () => Boolean((await ask(`/jobs/${part(id)}`)).ended_at));

/** Plays a scene with a browser; whatever a page complains of fails it. */
export async function play(scene, { width = 1440, height = 900, scheme = "light", signedIn = true, expected = [] } = {}) {
  const browser = await chromium.launch({ executablePath: process.env.BELLWETHER_BROWSER, args: ARGUMENTS });
  const complaints = [];
  try {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme });
    if (signedIn) await context.addInitScript((given) => location.protocol.startsWith("http") && sessionStorage.setItem("bellwether-token", given), token);
    context.on("page", (page) => {
      page.on("pageerror", (error) => complaints.push(`${error.stack || error}`));
      page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
      page.on("dialog", (dialog) => {
        complaints.push(`a dialog: ${dialog.message()}`);
        dialog.dismiss();
      });
    });
    const page = await context.newPage();
    page.setDefaultTimeout(DEADLINE);
    await scene({ page, context, browser, complaints });
    const others = complaints.filter((text) => !expected.some((known) => text.includes(known)));
    if (others.length) throw new Error(`the page complains: ${others.join("\n")}`);
  } finally {
    await browser.close();
    input.close();
  }
}
