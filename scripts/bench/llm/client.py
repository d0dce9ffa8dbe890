# SPDX-License-Identifier: Apache-2.0
"""Python clients for the comparison: client.py aiohttp|openai URL CALLS.

Each asks as its manual shows: one session, so many calls at a time, the answer
decoded. Prints its name and calls per CPU second (user and system, its own).
"""
import asyncio
import json
import resource
import sys
import time

CONCURRENCY = 64
PROMPT = ("The old keeper lit the lamp at dusk, and nobody on the quay saw him go. " * 40)[:2000]


def messages(i):
    return [{"role": "system", "content": "Answer briefly."}, {"role": "user", "content": f"{i} {PROMPT}"}]


async def run_aiohttp(url, calls):
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONCURRENCY)) as session:
        todo = iter(range(calls))

        async def worker():
            for i in todo:
                body = {"model": "m", "messages": messages(i), "temperature": 0, "max_tokens": 500}
                async with session.post(url + "/chat/completions", json=body, headers={"Authorization": "Bearer k"}) as r:
                    data = await r.json()
                    assert len(data["choices"][0]["message"]["content"]) > 1000

        await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))


async def run_openai(url, calls):
    import openai

    async with openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=5) as client:
        todo = iter(range(calls))

        async def worker():
            for i in todo:
                r = await client.chat.completions.create(model="m", messages=messages(i), temperature=0, max_tokens=500)
                assert len(r.choices[0].message.content) > 1000

        await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


which, url, calls = sys.argv[1], sys.argv[2], int(sys.argv[3])
run = {"aiohttp": run_aiohttp, "openai": run_openai}[which]
asyncio.run(run(url, 200))  # imports and first connections do not count
began, wall = cpu(), time.time()
asyncio.run(run(url, calls))
print(f"{which} {calls / (cpu() - began):.0f} calls/CPU-second, {calls / (time.time() - wall):.0f} calls/s")
