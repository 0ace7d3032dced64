// One person's agent leads a team; another person's joins by the link, finds what the leader keeps for itself, and leaves;
// the same way with JavaScript and without.

import assert from "node:assert/strict";
import { PASSWORD, collectComplaints, launch, lookAt, makeAgent, signUp } from "./browser.mjs";
import { startServer } from "./server.mjs";

export async function teams(t, { javaScriptEnabled }) {
  const server = await startServer();
  t.after(() => server.stop());
  const browser = await launch();
  t.after(() => browser.close());
  const { url } = server;
  const context = await browser.newContext({ javaScriptEnabled });
  const others = await browser.newContext({ javaScriptEnabled });
  const complaints = [await collectComplaints(context), await collectComplaints(others)];
  const [annas, bens] = [await context.newPage(), await others.newPage()];
  const look = (page, name) => lookAt(page, name, javaScriptEnabled);
  const team = async (page, agent) => {
    await page.goto(`${url}/agents`);
    const row = page.locator(".agent", { has: page.locator("summary strong").getByText(agent, { exact: true }) });
    await row.locator("> summary").click();
    const fold = row.locator("details", { hasText: "Team" }).last();
    if ((await fold.getAttribute("open")) === null) await fold.locator("summary").click();
    return fold;
  };
  const find = async () => (await server.tool(crew, "memory_search", { query: "Bergen" })).results;
  let lead, crew, invitation;

  await t.test("the leader's person hands out a link", async () => {
    await signUp(annas, url);
    lead = await makeAgent(annas, url, "skipper");
    await makeAgent(annas, url, "notes-on-the-phone");
    const fold = await team(annas, "skipper");
    await look(annas, "team-none");
    await fold.getByRole("button", { name: "Invite another person's agent" }).click();
    invitation = await annas.locator(".agent .paste code, .agent pre code").first().textContent();
    assert.match(invitation, /\/team\/[0-9a-f]{64}$/);
    await look(annas, "team-invited");
    await server.tool(lead, "memory_add", { type: "fact", theme: "boats", content: "The boat to Bergen leaves at nine." });
  });

  await t.test("another person sees who invites, chooses an agent, and it joins", async () => {
    await annas.goto(`${url}/admin/users`);
    await annas.getByRole("button", { name: "Create invitation" }).click();
    await bens.goto(await annas.locator(".fresh code").textContent());
    await bens.getByLabel("E-mail address").fill("ben@example.com");
    await bens.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await bens.getByRole("button", { name: "Create account" }).click();
    await bens.waitForURL(`${url}/memory`);
    await bens.goto(invitation);
    await bens.getByText("You have no agent yet.").waitFor();
    await look(bens, "team-join-none");
    crew = await makeAgent(bens, url, "crew");
    assert.deepEqual(await find(), []);
    await bens.goto(invitation);
    await bens.getByText("anna@example.com").waitFor();
    await bens.getByLabel("Which agent").selectOption("crew");
    await look(bens, "team-join");
    await bens.getByRole("button", { name: "Join the team" }).click();
    await bens.waitForURL(/\/agents#agent-\d+$/);
    const [hit] = await find();
    assert.equal(hit.memory_of, "skipper");
    await bens.goto(invitation);
    await bens.getByRole("heading", { name: "This invitation cannot be used" }).waitFor();
    await look(bens, "team-over");
  });

  await t.test("both see the team, and what was read", async () => {
    await team(bens, "crew");
    await bens.getByText("It can find and read the own memories of").waitFor();
    await look(bens, "team-member");
    const fold = await team(annas, "skipper");
    await fold.getByText("It has 1 memory of its own.").waitFor();
    await fold.getByLabel("Another of your agents").selectOption("notes-on-the-phone");
    await fold.getByRole("button", { name: "Add to the team" }).click();
    await annas.getByText("It joins the team with its next call.").first().waitFor();
    await look(annas, "team-leader");
    await annas.goto(`${url}/activity`);
    await annas.getByText("crew (ben@example.com), of the team of skipper").first().waitFor();
    await look(annas, "team-activity");
    await bens.goto(`${url}/activity`);
    await look(bens, "team-activity-member");
  });

  await t.test("it ends at once, from either side", async () => {
    const fold = await team(bens, "crew");
    await fold.getByRole("button", { name: "Leave this team" }).click();
    await bens.getByText("Ended: nothing more is read through this.").first().waitFor();
    assert.deepEqual(await find(), []);
    const members = await team(annas, "skipper");
    await members.getByRole("button", { name: "Remove notes-on-the-phone from the team of skipper" }).click();
    await annas.getByText("Ended: nothing more is read through this.").first().waitFor();
    assert.equal(await annas.locator(".team li").count(), 0);
  });

  // Without JavaScript nothing uses what is fetched early for it, and two pages stay open for long.
  const isOfPreload = (complaint) => !javaScriptEnabled && complaint.includes("preloaded using link preload");
  assert.deepEqual(complaints.flat().filter((complaint) => !isOfPreload(complaint)), []);
}
