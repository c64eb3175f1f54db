"""Hands a job that a worker holds to another, over REST. See docs/handoff.md.

    python3 handoff.py http://127.0.0.1:7071 JOB RECEIVER WORKER_KEY_FILE
"""
import hashlib, json, os, sys, urllib.request

from signing import handoff, load_key

url, job_id, receiver, key_file = sys.argv[1:5]

def call(path, body=None):
    headers = {"content-type": "application/json"}
    if token := os.environ.get("BELLWETHER_TOKEN"):
        headers["authorization"] = f"Bearer {token}"
    data = body and json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url + path, data, headers)) as answer:
        return json.load(answer)

scheduler, job = call("/scheduler/identity"), call(f"/scheduler/jobs/{job_id}")
# Byte for byte as it was submitted.
payload_hash = hashlib.sha256(json.dumps(job["payload"]).encode()).digest()
token = job["attempts"][-1]["token"]
call("/scheduler/handoffs", handoff(
    load_key(key_file), scheduler["scheduler"], scheduler["epoch"], job_id, token, payload_hash, receiver))
