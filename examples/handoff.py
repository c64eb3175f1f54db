"""Hands a job that a worker holds to another, over REST. See docs/handoff.md.

    python3 handoff.py http://127.0.0.1:7071 JOB RECEIVER WORKER_KEY_FILE
"""
import base64, hashlib, json, os, struct, sys, time, urllib.request
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

url, job_id, receiver, key_file = sys.argv[1:5]


def call(path, body=None):
    headers = {"content-type": "application/json"}
    if token := os.environ.get("BELLWETHER_TOKEN"):
        headers["authorization"] = f"Bearer {token}"
    data = body and json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url + path, data, headers)) as answer:
        return json.load(answer)


def field(data):
    return struct.pack(">I", len(data)) + data


key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(open(key_file).read().strip()))
public = key.public_key().public_bytes_raw()
scheduler, job = call("/scheduler/identity"), call(f"/scheduler/jobs/{job_id}")
payload_hash = hashlib.sha256(json.dumps(job["payload"]).encode()).digest()
numbers = struct.pack(">QQQ", job["attempts"][-1]["token"], scheduler["epoch"], int((time.time() + 60) * 1e6))
previous = bytes(64)  # the signature of the handoff before this one, if there was one
texts = [b"bellwether/handoff/v1", scheduler["scheduler"].encode(), job_id.encode(), receiver.encode()]
statement = b"".join(map(field, texts + [payload_hash, public])) + numbers + field(previous)
signature = b"\x01" + public + numbers + previous + key.sign(statement)
call("/scheduler/handoffs", {
    "type": "job_handoff", "job_id": job_id, "receiver": receiver, "payload_hash": payload_hash.hex(),
    "signature": "KLP-sig:" + base64.urlsafe_b64encode(signature).decode().rstrip("="),
})
