"""What a worker over a queue signs, and what it signs to hand a job on: see docs/handoff.md.
Needs the package `cryptography`.
"""
import base64, hashlib, json, os, struct, time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

def load_key(path):  # 64 hexadecimal digits, made at the first start; nobody else may read them
    if not os.path.exists(path):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(os.urandom(32).hex())
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(open(path).read().strip()))

def public(key):
    return key.public_key().public_bytes_raw()

def field(data):
    return struct.pack(">I", len(data)) + data

def envelope(key, scheduler, session, number, message):
    body, job, token = json.dumps(message), message.get("job", 0), message.get("token", 0)
    parts = [field(part.encode()) for part in ("bellwether/report/v1", scheduler, message["worker"])]
    parts += [field(bytes.fromhex(session)), struct.pack(">Q", number), field(message["type"].encode())]
    parts += [struct.pack(">QQ", job, token), field(hashlib.sha256(body.encode()).digest())]
    return json.dumps({"signed": body, "key": public(key).hex(), "session": session, "number": number,
                       "signature": key.sign(b"".join(parts)).hex()})

def handoff(key, scheduler, epoch, job_id, token, payload_hash, receiver, previous=bytes(64)):
    numbers = struct.pack(">QQQ", token, epoch, int((time.time() + 60) * 1e6))
    texts = [text.encode() for text in ("bellwether/handoff/v1", scheduler, job_id, receiver)]
    signed = b"".join(map(field, texts + [payload_hash, public(key)])) + numbers + field(previous)
    signature = b"\x01" + public(key) + numbers + previous + key.sign(signed)
    return {"type": "job_handoff", "job_id": job_id, "receiver": receiver, "payload_hash": payload_hash.hex(),
            "signature": "KLP-sig:" + base64.urlsafe_b64encode(signature).decode().rstrip("=")}

def last_signature(links, scheduler, payload_hash):  # raises if the chain is not what was signed
    previous = bytes(64)
    for link in links:
        parts = base64.urlsafe_b64decode(link["signature"].removeprefix("KLP-sig:") + "==")
        key, numbers, before, signature = parts[1:33], parts[33:57], parts[57:121], parts[121:]
        if before != previous or bytes.fromhex(link["payload_hash"]) != payload_hash:
            raise ValueError(f"the handoff from {link['from']} does not belong here")
        texts = [text.encode() for text in ("bellwether/handoff/v1", scheduler, link["job_id"], link["receiver"])]
        signed = b"".join(map(field, texts + [payload_hash, key])) + numbers + field(previous)
        Ed25519PublicKey.from_public_bytes(key).verify(signature, signed)
        previous = signature
    return previous
