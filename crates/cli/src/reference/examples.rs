//! An example for each command. They stand on the page in the order of the commands, which is the order
//! that a test runs them in, in an empty folder: what one needs, an earlier one has made.

pub(super) struct Example {
    /// As `bellwether runs show`.
    pub(super) command: &'static str,
    pub(super) line: &'static str,
}

macro_rules! examples {
    ($($command:literal: $($line:literal),+;)+) => {
        pub(super) const ALL: &[Example] = &[$($(Example { command: $command, line: $line },)+)+];
    };
}

examples! {
    "bellwether serve":
        "echo 'checkpoints: {every: 1s}' > scheduler.yaml",
        "bellwether serve --config scheduler.yaml --check",
        "bellwether serve --config scheduler.yaml > serve.log 2>&1 &";
    "bellwether worker": "bellwether worker --id w1 --slots 2 > w1.log 2>&1 &";
    "bellwether worker key": "bellwether worker key";
    "bellwether worker rotate-key": "bellwether worker rotate-key w1";
    "bellwether submit":
        "bellwether submit --id build-1 --type exec --payload '{\"argv\":[\"true\"]}' --wait",
        "bellwether submit --id later --type exec --payload '{\"argv\":[\"true\"]}' --delay 5m",
        "echo '{\"run\": \"nightly\", \"jobs\": {\"a\": {\"type\": \"exec\", \"payload\": {\"argv\": [\"true\"]}}}}' | bellwether submit -",
        "bellwether submit --array 1-3 --type exec --payload '{\"argv\":[\"echo\",\"{{item}}\"]}' > run";
    "bellwether run": "bellwether run --timeout 5m -- echo hello";
    "bellwether jobs": "bellwether jobs --type exec --state completed,delayed";
    "bellwether runs list": "bellwether runs list --limit 10";
    "bellwether runs show": "bellwether runs show \"$(cat run)\"";
    "bellwether runs cancel": "bellwether runs cancel \"$(cat run)\" --dry-run";
    "bellwether runs retry": "bellwether runs retry \"$(cat run)\" --dry-run";
    "bellwether types": "bellwether types";
    "bellwether job": "bellwether job build-1";
    "bellwether explain": "bellwether explain later";
    "bellwether decisions": "bellwether decisions --limit 3";
    "bellwether predictions": "bellwether predictions";
    "bellwether shadow": "bellwether shadow --set round_robin";
    "bellwether workers": "bellwether workers";
    "bellwether workers keys": "bellwether workers keys";
    "bellwether workers approve": "bellwether workers approve w3 $(bellwether worker key)";
    "bellwether workers invite": "bellwether workers invite w2";
    "bellwether workers revoke": "bellwether workers revoke w3";
    "bellwether status": "bellwether status";
    "bellwether cancel": "bellwether cancel --type exec --state delayed --reason 'not needed'";
    "bellwether retry": "bellwether retry later --dry-run";
    "bellwether drain": "bellwether drain w1 --wait", "bellwether drain w1 --undo";
    "bellwether logs": "bellwether logs build-1 --tail 10";
    "bellwether pause": "bellwether pause exec";
    "bellwether resume": "bellwether resume exec", "bellwether resume --all";
    "bellwether pin":
        "bellwether submit --id report-1 --type exec --payload '{\"argv\":[\"true\"]}' --delay 5m",
        "bellwether pin report-1 w1";
    "bellwether config get": "bellwether config get retry_base";
    "bellwether config set": "bellwether config set retry_base=2s --dry-run";
    "bellwether config diff": "bellwether config diff";
    "bellwether cluster init":
        "echo 'journal: raft' > raft.yaml",
        "bellwether cluster init --config raft.yaml --data-dir a --peers 127.0.0.1:7172",
        "bellwether serve --config raft.yaml --data-dir a --peers 127.0.0.1:7172 --grpc 127.0.0.1:7170 --http 127.0.0.1:7171 > a.log 2>&1 &",
        "until bellwether cluster status --server 127.0.0.1:7170; do sleep 0.2; done";
    "bellwether cluster join":
        "bellwether cluster join 127.0.0.1:7172 --cluster-token a/raft/token --config raft.yaml --data-dir b --peers 127.0.0.1:7182",
        "bellwether serve --config raft.yaml --data-dir b --peers 127.0.0.1:7182 --grpc 127.0.0.1:7180 --http 127.0.0.1:7181 > b.log 2>&1 &",
        "bellwether cluster join 127.0.0.1:7172 --cluster-token a/raft/token --config raft.yaml --data-dir c --peers 127.0.0.1:7192";
    "bellwether cluster remove":
        "until bellwether cluster remove 3 --server 127.0.0.1:7170; do sleep 0.2; done";
    "bellwether cluster status": "bellwether cluster status --server 127.0.0.1:7170,127.0.0.1:7180";
    "bellwether cluster verify":
        "until bellwether cluster verify --server 127.0.0.1:7170,127.0.0.1:7180; do sleep 0.2; done";
    "bellwether cluster transfer":
        "until bellwether cluster transfer --server 127.0.0.1:7170,127.0.0.1:7180; do sleep 0.2; done";
    "bellwether cluster recover":
        "redis-server --appendonly yes --appendfsync always --save '' > redis.log &",
        "echo '{journal: redis, data_dir: d, cluster: {url: \"redis://127.0.0.1:6379/0\"}}' > shared.yaml",
        "bellwether cluster recover --config shared.yaml";
    "bellwether events": "bellwether events --kind job_completed";
    "bellwether audit": "bellwether audit --action job_cancelled";
    "bellwether replay": "bellwether replay";
    "bellwether checkpoints":
        "bellwether checkpoints",
        "bellwether checkpoints --export kept.jsonl",
        "bellwether replay --checkpoints kept.jsonl";
    "bellwether snapshot": "bellwether snapshot now.snapshot";
    "bellwether open": "bellwether open --print";
    "bellwether backup": "bellwether backup now.backup", "bellwether backup --check now.backup";
    "bellwether restore":
        "bellwether restore --backup now.backup --into restored",
        "bellwether restore --backup now.backup --to 5 --into earlier";
    "bellwether reload": "bellwether reload";
    "bellwether demo": "bellwether demo > demo.txt";
    "bellwether simulate trace":
        "for n in 1 2 3; do echo '{\"id\":\"j'$n'\",\"type\":\"t\",\"submit_ms\":0,\"duration_ms\":100}'; done > week.jsonl",
        "bellwether simulate trace week.jsonl --fleet 2x1@1.0 --compare fifo";
    "bellwether simulate predict": "bellwether simulate predict week.jsonl";
    "bellwether simulate faults": "bellwether simulate faults --seeds 2";
    "bellwether simulate cluster": "bellwether simulate cluster --seeds 2";
    "bellwether whatif": "bellwether whatif --strategy round_robin --data-dir restored";
    "bellwether bench":
        "bellwether bench --jobs 1000 --workers 2",
        "bellwether bench --queue sqlite --jobs 500 --rounds 1";
    "bellwether bench core": "bellwether bench core --workers 2 --waiting 1000 --jobs 1000";
    "bellwether bench sinks": "bellwether bench sinks --jobs 1000 --rounds 1";
    "bellwether bench trust": "bellwether bench trust --jobs 200 --rounds 1";
    "bellwether bench output": "bellwether bench output --jobs 10 --lines 10 --rounds 1";
    "bellwether bench followers": "bellwether bench followers --readers 2 --rate 100 --jobs 100 --rounds 1";
    "bellwether bench history": "bellwether bench history --rows 1000 --queries 10";
    "bellwether bench failover": "bellwether bench failover --kills 1 --idle 1";
    "bellwether soak": "bellwether soak --minutes 1 --rate 50 --faults none --lag-max 30 --read-p99-max 5000";
    "bellwether queue check":
        "echo 'queue: {backend: sqlite, path: queue.sqlite}' > queue.yaml",
        "bellwether queue check --config queue.yaml";
    "bellwether queues": "bellwether queues";
    "bellwether doctor": "bellwether doctor";
    "bellwether top": "bellwether top --once";
    "bellwether token issue": "bellwether token issue --role submitter --role viewer ci";
    "bellwether token show": "bellwether token show > token";
    "bellwether token header": "bellwether token header > header";
    "bellwether completions": "bellwether completions bash > completions.bash";
}
