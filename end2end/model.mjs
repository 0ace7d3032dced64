// A chat model for the specs, in OpenAI's form: it says what it is told to say, after a moment.

import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const THOUGHT_MS = 50;

/** `state.answer` gets the conversation as the model is shown it, without what is known, and gives facts, or a text, or nothing for a 500. */
export async function startModel() {
  const state = { asked: 0, answer: () => [] };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { messages = [] } = JSON.parse(body || "{}");
    const told = messages.at(-1)?.content ?? "";
    state.asked += 1;
    await sleep(THOUGHT_MS);
    const said = told.includes("<pair ") ? JSON.stringify({ relations: told.match(/<pair /g).map(() => "unrelated") }) : state.answer(told.split("<conversation>").at(-1));
    response.writeHead(said === undefined ? 500 : 200, { "content-type": "application/json" });
    const content = typeof said === "string" ? said : JSON.stringify({ facts: said });
    const choices = [{ message: { role: "assistant", content }, finish_reason: "stop" }];
    response.end(JSON.stringify({ model: "scripted-1", choices, usage: { prompt_tokens: 400, completion_tokens: 40 } }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}/v1`;
  const stop = () => new Promise((resolve) => server.close(resolve) && server.closeAllConnections());
  return { url, state, stop };
}

export function fact(category, key, value, source, source_context) {
  return { category, key, value, source, source_context };
}
