// Settings › Secrets: what is checked before anything was found, a secret that an agent sends, allowed and not allowed any
// more, and the setting.

import assert from "node:assert/strict";
import { begin, lookAt, makeAgent, scenario } from "./browser.mjs";

// Put together, so that no scanner of repositories takes it for a leak.
const SECRET = ["ghp_", "1B4a9Zq7Lm2Xc8Vb5Nn0Kj3Hg6Fd1Sa4Qw7E"].join("");

scenario("secrets", secrets);

async function secrets(t, { javaScriptEnabled }) {
  const { url, page, complaints, step } = await begin(t, { javaScriptEnabled });
  const look = (name) => lookAt(page, name, javaScriptEnabled);
  let token;
  const add = async () => {
    const answer = await fetch(`${url}/api/v1/tools/memory_add`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ type: "fact", content: `The token is ${SECRET}.` }),
    });
    return { status: answer.status, body: await answer.json() };
  };

  await step("before anything is found the page says what is checked", async () => {
    token = await makeAgent(page, url, "claude-code");
    await page.goto(`${url}/settings/secrets`);
    await page.getByText("API keys and tokens, private keys").waitFor();
    await page.getByText("Nothing was found.").waitFor();
    await look("secrets-empty");
  });

  await step("what is found is listed without the secret, and allowed by a click", async () => {
    const warned = await add();
    assert.equal(warned.body.warnings[0].rule, "github-pat");
    await page.getByRole("radio", { name: /^Refuse/ }).check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    assert.equal((await add()).status, 422);
    await page.goto(`${url}/settings/secrets`);
    await page.getByText("2 secrets found.").waitFor();
    assert.ok(!(await page.content()).includes(SECRET));
    await look("secrets");
    await page.getByRole("button", { name: /^Allow/ }).click();
    await page.getByText("Allowed: it is stored from now on").waitFor();
    assert.equal((await add()).status, 200);
    await look("secrets-allowed");
    await page.getByRole("button", { name: /^Do not allow/ }).click();
    await page.getByText("Not allowed any more").waitFor();
    assert.equal((await add()).status, 422);
  });

  // Without JavaScript Chromium complains that the islands were fetched and not run.
  if (javaScriptEnabled) assert.deepEqual(complaints, []);
}
