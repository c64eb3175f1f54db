"""A worker that speaks only Redis: python redis_worker.py redis://127.0.0.1:6379/1 kai-job worker-1 KEY_FILE

Offers come on the stream <prefix>:dispatch:<worker>, what it says goes to <prefix>:replies, signed
with its key; see docs/schema/queue-message.schema.json for the messages. Needs the packages `redis`
and `cryptography`.
"""
import json, random, sys, threading, time

import redis

from signing import envelope, handoff, last_signature, load_key, public

url, prefix, worker, key_file = sys.argv[1:5]
key, lock = load_key(key_file), threading.Lock()
instance = random.getrandbits(53)  # tells this process from an earlier one of the same name
server, held = redis.Redis.from_url(url), {}  # offers that wait for their grant, by token
challenge, number = None, 0  # the session that the scheduler has asked for, and what was said in it

def send(body):
    server.xadd(f"{prefix}:replies", {"body": body})

def say(kind, **fields):
    global number
    with lock:  # numbers must come in order
        number += 1
        message = {"type": kind, "worker": worker, **fields}
        send(envelope(key, challenge["scheduler"], challenge["nonce"], number, message))

def hello():
    send(json.dumps({"type": "hello", "worker": worker}))

def register(asked):
    global challenge, number
    challenge, number = asked, 0
    attempts = [{"job": offer["job"], "token": token} for token, offer in held.items()]
    say("register", instance=instance, slots=4, types=["echo"], held=attempts, public_key=public(key).hex())

def work(spec):
    return {"echo": spec["payload"]}

def run(offer):
    attempt = {"job": offer["job"], "token": offer["token"]}
    try:
        spec, payload_hash = offer["spec"], bytes.fromhex(offer["payload_hash"])
        previous = last_signature(offer.get("handoffs", []), challenge["scheduler"], payload_hash)
        receiver = spec["payload"].get("hand_to", worker)  # another agent is to go on with it
        if receiver != worker:
            return send(json.dumps(handoff(key, challenge["scheduler"], challenge["epoch"], spec["id"],
                                           offer["token"], payload_hash, receiver, previous)))
        say("log", **attempt, text="echoing\n")
        say("complete", **attempt, result=work(spec))
    except Exception as error:  # the scheduler decides whether and when it is tried again
        say("fail", **attempt, error=str(error))

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
    elif kind == "welcome":  # a claim of an earlier session may not have been heard
        [say("claim", job=offer["job"], token=token) for token, offer in held.items()]
    elif kind == "reconnect":
        hello()

def beat():
    while True:
        time.sleep(5)
        say("heartbeat", queue_depth=len(held)) if challenge else hello()

stream, last, welcomed = f"{prefix}:dispatch:{worker}", "0", False
threading.Thread(target=beat, daemon=True).start()
hello()
while True:
    for _, entries in server.xread({stream: last}, block=1000, count=100) or []:
        for last, fields in entries:
            message = json.loads(fields[b"body"])
            welcomed |= message.get("instance") == instance  # what came before was for another
            if message["type"] == "challenge":
                register(message)
            elif welcomed:
                hear(message)
            server.xdel(stream, last)
