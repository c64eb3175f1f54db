"""A worker that speaks only NATS: python nats_worker.py nats://127.0.0.1:4222 kai-job worker-1 KEY_FILE
Offers come on the subject <prefix>.dispatch.<worker>, what it says goes to <prefix>.replies, signed with
its key; see docs/schema/queue-message.schema.json for the messages. Needs the packages `nats-py` and
`cryptography`.
"""
import asyncio, json, random, sys
import nats
from signing import envelope, load_key, public
url, prefix, worker, key_file = sys.argv[1:5]
key = load_key(key_file)
instance = random.getrandbits(53)  # tells this process from an earlier one of the same name
held = {}  # offers that wait for their grant, by token
challenge, number = None, 0  # the session that the scheduler has asked for, and what was said in it

def work(spec):
    return {"echo": spec["payload"]}

async def send(body):
    await stream.publish(f"{prefix}.replies", body.encode())

async def say(kind, **fields):
    global number
    number += 1
    message = {"type": kind, "worker": worker, **fields}
    await send(envelope(key, challenge["scheduler"], challenge["nonce"], number, message))

async def hello():
    await send(json.dumps({"type": "hello", "worker": worker}))

async def register(asked):
    global challenge, number
    challenge, number = asked, 0
    attempts = [{"job": offer["job"], "token": token} for token, offer in held.items()]
    await say("register", instance=instance, slots=4, types=["echo"], held=attempts, public_key=public(key).hex())

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
    elif kind == "welcome":  # a claim of an earlier session may not have been heard
        [await say("claim", job=offer["job"], token=token) for token, offer in held.items()]
    elif kind == "reconnect":
        await hello()
    elif kind in ("revoke", "refused"):
        held.pop(token, None)

async def main():
    global stream
    stream, offers, welcomed = (await nats.connect(url)).jetstream(), None, False
    await hello()
    while True:
        try:
            offers = offers or await stream.pull_subscribe(f"{prefix}.dispatch.{worker}", worker)
            [delivery] = await offers.fetch(1, timeout=5)
            message = json.loads(delivery.data)
            welcomed |= message.get("instance") == instance
            if message["type"] == "challenge":
                await register(message)
            elif welcomed:  # what came before was meant for an earlier process
                await hear(message)
            await delivery.ack()
        except nats.js.errors.NotFoundError:  # the channel is made with the first message to it
            await asyncio.sleep(0.1)
        except nats.errors.TimeoutError:
            await (say("heartbeat", queue_depth=len(held)) if challenge else hello())

asyncio.run(main())
