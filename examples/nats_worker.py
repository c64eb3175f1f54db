"""A worker that speaks only NATS: python nats_worker.py nats://127.0.0.1:4222 kai-job worker-1
Offers come on the subject <prefix>.dispatch.<worker>, what it says goes to <prefix>.replies; see
docs/schema/queue-message.schema.json for the messages. Needs the package `nats-py`.
"""
import asyncio, json, random, sys
import nats
url, prefix, worker = sys.argv[1:4]
instance = random.getrandbits(53)  # tells this process from an earlier one of the same name
held = {}  # offers that wait for their grant, by token

def work(spec):
    return {"echo": spec["payload"]}

async def say(kind, **fields):
    body = {"type": kind, "worker": worker, **fields}
    await stream.publish(f"{prefix}.replies", json.dumps(body).encode())

async def register():
    attempts = [{"job": offer["job"], "token": token} for token, offer in held.items()]
    await say("register", instance=instance, slots=4, types=["echo"], held=attempts)

async def run(offer):
    try:
        await say("log", job=offer["job"], token=offer["token"], text="echoing\n")
        await say("complete", job=offer["job"], token=offer["token"], result=work(offer["spec"]))
    except Exception as error:  # the scheduler decides whether and when it is tried again
        await say("fail", job=offer["job"], token=offer["token"], error=str(error))

async def hear(message):
    kind, token = message["type"], message.get("token")
    if kind == "offer" and message["spec"]["guarantee"] == "exactly_once":
        held[token] = message  # it starts once the claim is granted, and only then
        await say("claim", job=message["job"], token=token)
    elif kind == "offer":
        await say("acknowledge", job=message["job"], token=token)
        await run(message)
    elif kind == "grant" and token in held:
        await run(held.pop(token))
    elif kind == "reconnect":
        await register()
    elif kind in ("revoke", "refused"):
        held.pop(token, None)

async def main():
    global stream
    stream, offers, welcomed = (await nats.connect(url)).jetstream(), None, False
    await register()
    while True:
        try:
            offers = offers or await stream.pull_subscribe(f"{prefix}.dispatch.{worker}", worker)
            [delivery] = await offers.fetch(1, timeout=5)
            welcomed |= json.loads(delivery.data).get("instance") == instance
            if welcomed:  # what came before was meant for an earlier process
                await hear(json.loads(delivery.data))
            await delivery.ack()
        except nats.js.errors.NotFoundError:  # the channel is made with the first message to it
            await asyncio.sleep(0.1)
        except nats.errors.TimeoutError:
            await say("heartbeat", queue_depth=len(held))

asyncio.run(main())
