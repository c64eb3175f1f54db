"""A worker that speaks only Redis: python redis_worker.py redis://127.0.0.1:6379/1 kai-job worker-1

Offers come on the stream <prefix>:dispatch:<worker>, what it says goes to <prefix>:replies; see
docs/schema/queue-message.schema.json for the messages. Needs the package `redis`.
"""
import json, random, sys, threading, time

import redis

url, prefix, worker = sys.argv[1:4]
instance = random.getrandbits(53)  # tells this process from an earlier one of the same name
server, held = redis.Redis.from_url(url), {}  # offers that wait for their grant, by token

def work(spec):
    return {"echo": spec["payload"]}

def say(kind, **fields):
    body = json.dumps({"type": kind, "worker": worker, **fields})
    server.xadd(f"{prefix}:replies", {"body": body})

def register():
    attempts = [{"job": offer["job"], "token": token} for token, offer in held.items()]
    say("register", instance=instance, slots=4, types=["echo"], held=attempts)

def run(offer):
    try:
        say("log", job=offer["job"], token=offer["token"], text="echoing\n")
        say("complete", job=offer["job"], token=offer["token"], result=work(offer["spec"]))
    except Exception as error:  # the scheduler decides whether and when it is tried again
        say("fail", job=offer["job"], token=offer["token"], error=str(error))

def hear(message):
    kind, token = message["type"], message.get("token")
    if kind == "offer" and message["spec"]["guarantee"] == "exactly_once":
        held[token] = message  # it starts once the claim is granted, and only then
        say("claim", job=message["job"], token=token)
    elif kind == "offer":
        say("acknowledge", job=message["job"], token=token)
        run(message)
    elif kind == "grant" and token in held:
        run(held.pop(token))
    elif kind in ("revoke", "refused"):
        held.pop(token, None)
    elif kind == "reconnect":
        register()

def beat():
    while True:
        time.sleep(5)
        say("heartbeat", queue_depth=len(held))

stream, last, welcomed = f"{prefix}:dispatch:{worker}", "0", False
threading.Thread(target=beat, daemon=True).start()
register()
while True:
    for _, entries in server.xread({stream: last}, block=1000, count=100) or []:
        for last, fields in entries:
            message = json.loads(fields[b"body"])
            welcomed |= message.get("instance") == instance  # what came before was for another
            hear(message) if welcomed else None
            server.xdel(stream, last)
