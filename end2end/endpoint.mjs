// An embeddings endpoint for the specs, in OpenAI's form: as slow as it is told,
// and with vectors that are near each other where texts share words.

import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const WIDTH = 64;

export async function startEndpoint() {
  const state = { delayMs: 0, texts: 0, held: null };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { input = [], model } = JSON.parse(body || "{}");
    state.texts += input.length;
    await sleep(state.delayMs);
    await state.held;
    const data = input.map((text, index) => ({ index, embedding: vectorOf(text) }));
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ object: "list", model, data }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}/v1`;
  const stop = () => new Promise((resolve) => server.close(resolve) && server.closeAllConnections());
  /** Answers nothing until what this returns is called. */
  const hold = () => {
    let release;
    state.held = new Promise((resolve) => (release = resolve));
    return () => ((state.held = null), release());
  };
  return { url, state, hold, stop };
}

/** A chat model that says this, in OpenAI's form. */
export async function startChat(text) {
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    response.writeHead(200, { "content-type": "application/json" });
    const message = { role: "assistant", content: text };
    response.end(JSON.stringify({ model: "scripted", choices: [{ index: 0, message, finish_reason: "stop" }] }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}/v1`;
  const stop = () => new Promise((resolve) => server.close(resolve) && server.closeAllConnections());
  return { url, stop };
}

function vectorOf(text) {
  const vector = new Array(WIDTH).fill(0.01);
  for (const word of text.toLowerCase().split(/\W+/)) {
    let hash = 7;
    for (const character of word) hash = (hash * 31 + character.codePointAt(0)) % 9973;
    vector[hash % WIDTH] += 1;
  }
  return vector;
}
