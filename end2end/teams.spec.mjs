// One person's agent leads a team; another person's joins by the link, finds what the leader keeps for itself, and leaves.

import assert from "node:assert/strict";
import { acceptInvitation, begin, collectComplaints, lookAt, makeAgent, scenario } from "./browser.mjs";

scenario("teams", teams);

async function teams(t, { javaScriptEnabled }) {
  const { url, tool, id, email, newContext, page: annas, complaints: ofAnnas, step } = await begin(t, { javaScriptEnabled });
  const ben = `ben-${id}@example.com`;
  const others = await newContext();
  const complaints = [ofAnnas, await collectComplaints(others)];
  const bens = await others.newPage();
  const look = (page, name) => lookAt(page, name, javaScriptEnabled);
  const team = async (page, agent) => {
    await page.goto(`${url}/agents`);
    const row = page.locator(".agent", { has: page.locator("summary strong").getByText(agent, { exact: true }) });
    await row.locator("> summary").click();
    const fold = row.locator("details", { hasText: "Team" }).last();
    if ((await fold.getAttribute("open")) === null) await fold.locator("summary").click();
    return fold;
  };
  const find = async () => (await tool(crew, "memory_search", { query: "Bergen" })).results;
  let lead, crew, invitation;

  await step("the leader's person hands out a link", async () => {
    lead = await makeAgent(annas, url, "skipper");
    await makeAgent(annas, url, "notes-on-the-phone");
    const fold = await team(annas, "skipper");
    await look(annas, "team-none");
    await fold.getByRole("button", { name: "Invite another person's agent" }).click();
    invitation = await annas.locator(".agent .paste code, .agent pre code").first().textContent();
    assert.match(invitation, /\/team\/[0-9a-f]{64}$/);
    await look(annas, "team-invited");
    await tool(lead, "memory_add", { type: "fact", theme: "boats", content: "The boat to Bergen leaves at nine." });
  });

  await step("another person sees who invites, chooses an agent, and it joins", async () => {
    await annas.goto(`${url}/admin/users`);
    await annas.getByRole("button", { name: "Create invitation" }).click();
    await acceptInvitation(bens, await annas.locator(".fresh code").textContent(), ben);
    await bens.goto(invitation);
    await bens.getByText("You have no agent yet.").waitFor();
    await look(bens, "team-join-none");
    crew = await makeAgent(bens, url, "crew");
    assert.deepEqual(await find(), []);
    await bens.goto(invitation);
    await bens.getByText(email).waitFor();
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

  await step("both see the team, and what was read", async () => {
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
    await annas.getByText(`crew (${ben}), of the team of skipper`).first().waitFor();
    await look(annas, "team-activity");
    await bens.goto(`${url}/activity`);
    await look(bens, "team-activity-member");
  });

  await step("it ends at once, from either side", async () => {
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
