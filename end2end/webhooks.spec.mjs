// Settings › Webhooks: one is added, its secret is shown once, a test arrives, what is remembered is told, signed; then it is
// paused, gets a new secret and is deleted.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { once } from "node:events";
import { begin, lookAt, makeAgent, scenario } from "./browser.mjs";

// Keeps what is posted to it, and waits for it.
async function receiver(t) {
  const received = [];
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    received.push({ headers: request.headers, body: Buffer.concat(parts) });
    response.writeHead(204).end();
    server.emit("received");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const next = async (count) => {
    while (received.length < count) await once(server, "received", { signal: AbortSignal.timeout(300_000) });
    return received[count - 1];
  };
  return { url: `http://127.0.0.1:${server.address().port}/hook`, next };
}

function signature(secret, { headers, body }) {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`;
  return `v1,${createHmac("sha256", key).update(signed).update(body).digest("base64")}`;
}

scenario("webhooks", webhooks);

async function webhooks(t, { javaScriptEnabled }) {
  const { url, page, complaints, step } = await begin(t, { javaScriptEnabled });
  const address = await receiver(t);
  const look = (name) => lookAt(page, name, javaScriptEnabled);
  let secret;

  await step("before there is one the page says what it is good for", async () => {
    await page.goto(`${url}/settings/webhooks`);
    await page.getByText("No webhooks yet.").waitFor();
    await look("webhooks-empty");
  });

  await step("its secret is shown once, and a test arrives signed", async () => {
    // An admin may name this machine.
    await page.getByLabel("Address").fill(address.url);
    await page.getByRole("button", { name: "Add webhook" }).click();
    secret = await page.locator(".fresh pre").innerText();
    await look("webhooks-new");
    await page.goto(`${url}/settings/webhooks`);
    assert.ok(!(await page.content()).includes(secret));
    await page.getByRole("button", { name: "Send a test" }).click();
    await page.getByText("The test was accepted with status 204.").waitFor();
    const test = await address.next(1);
    assert.equal(test.headers["webhook-signature"], signature(secret, test));
  });

  await step("what is remembered is told, without its text", async () => {
    const token = await makeAgent(page, url, "laptop");
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const memory = { type: "fact", content: "The kettle is blue." };
    const added = await fetch(`${url}/api/v1/tools/memory_add`, { method: "POST", headers, body: JSON.stringify(memory) });
    const { id } = await added.json();
    const told = await address.next(2);
    const event = JSON.parse(told.body);
    assert.deepEqual([event.type, event.item.id], ["memory.stored", id]);
    assert.ok(!told.body.includes("kettle"));
    assert.equal(told.headers["webhook-signature"], signature(secret, told));
    const changes = await (await fetch(`${url}/api/v1/changes`, { headers })).json();
    assert.deepEqual(changes.events[0], event);
    await page.goto(`${url}/settings/webhooks`);
    await page.getByText("Last deliveries").click();
    await page.getByRole("cell", { name: "204" }).first().waitFor();
    await look("webhooks");
  });

  await step("it is paused, resumed, gets a new secret and is deleted", async () => {
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.locator("summary", { hasText: "New secret" }).click();
    await page.getByRole("button", { name: "Make a new secret" }).click();
    assert.notEqual(await page.locator(".fresh pre").innerText(), secret);
    await page.locator("summary", { hasText: "Delete" }).click();
    await page.getByRole("button", { name: "Delete this webhook" }).click();
    await page.getByText("No webhooks yet.").waitFor();
  });

  // Without JavaScript Chromium complains that the islands were fetched and not run.
  if (javaScriptEnabled) assert.deepEqual(complaints, []);
}
