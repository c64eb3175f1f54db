//! An example for each command. They are run by a test, in this order, in an empty folder, with a
//! scheduler at `BELLWETHER_SERVER` whose data are in `data`.

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
    "bellwether worker": "bellwether worker --id w1 --slots 2 &";
    "bellwether submit":
        "bellwether submit --id build-1 --type exec --payload '{\"argv\":[\"true\"]}' --wait",
        "bellwether submit --id later --type exec --payload '{\"argv\":[\"true\"]}' --delay 5m",
        "echo '{\"run\": \"nightly\", \"jobs\": {\"a\": {\"type\": \"exec\", \"payload\": {\"argv\": [\"true\"]}}}}' | bellwether submit -",
        "bellwether submit --array 1-3 --type exec --payload '{\"argv\":[\"echo\",\"{{item}}\"]}' > run";
    "bellwether run": "bellwether run --timeout 5m -- echo hello";
    "bellwether jobs": "bellwether jobs --type exec --state completed,delayed";
    "bellwether job": "bellwether job build-1";
    "bellwether logs": "bellwether logs build-1 --tail 10";
    "bellwether explain": "bellwether explain later";
    "bellwether decisions": "bellwether decisions --limit 3";
    "bellwether predictions": "bellwether predictions";
    "bellwether shadow": "bellwether shadow --set round_robin";
    "bellwether workers": "bellwether workers";
    "bellwether status": "bellwether status";
    "bellwether types": "bellwether types";
    "bellwether runs list": "bellwether runs list --limit 10";
    "bellwether runs show": "bellwether runs show \"$(cat run)\"";
    "bellwether runs cancel": "bellwether runs cancel \"$(cat run)\" --dry-run";
    "bellwether runs retry": "bellwether runs retry \"$(cat run)\" --dry-run";
    "bellwether pin": "bellwether pin later w1";
    "bellwether pause": "bellwether pause exec";
    "bellwether resume": "bellwether resume exec", "bellwether resume --all";
    "bellwether cluster status": "bellwether cluster status";
    "bellwether config get": "bellwether config get retry_base";
    "bellwether config set": "bellwether config set retry_base=2s --dry-run";
    "bellwether config diff": "bellwether config diff";
    "bellwether cancel": "bellwether cancel --type exec --state delayed --reason 'not needed'";
    "bellwether retry": "bellwether retry later --dry-run";
    "bellwether events": "bellwether events --kind job_completed";
    "bellwether queues": "bellwether queues";
    "bellwether open": "bellwether open --print";
    "bellwether reload": "bellwether reload";
    "bellwether backup": "bellwether backup now.backup", "bellwether backup --check now.backup";
    "bellwether restore":
        "bellwether restore --backup now.backup --into restored",
        "bellwether restore --backup now.backup --to 5 --into earlier";
    "bellwether replay": "bellwether replay --data-dir restored";
    "bellwether serve": "bellwether serve --data-dir other --grpc 127.0.0.1:0 --http 127.0.0.1:0 --check";
    "bellwether token": "bellwether token issue --role viewer dashboard";
    "bellwether whatif": "bellwether whatif --strategy round_robin --data-dir restored";
    "bellwether top": "bellwether top --once";
    "bellwether bench core": "bellwether bench core --workers 2 --waiting 1000 --jobs 1000";
    "bellwether bench trust": "bellwether bench trust --jobs 200 --rounds 1";
    "bellwether bench output": "bellwether bench output --jobs 10 --lines 10 --rounds 1";
    "bellwether bench followers": "bellwether bench followers --readers 2 --rate 100 --jobs 100 --rounds 1";
    "bellwether bench history": "bellwether bench history --rows 1000 --queries 10";
    "bellwether bench failover": "bellwether bench failover --kills 1 --idle 1";
    "bellwether demo": "bellwether demo > demo.txt";
    "bellwether snapshot": "bellwether snapshot now.snapshot";
    "bellwether drain": "bellwether drain w1 --wait", "bellwether drain w1 --undo";
    "bellwether simulate trace":
        "for n in 1 2 3; do echo '{\"id\":\"j'$n'\",\"type\":\"t\",\"submit_ms\":0,\"duration_ms\":100}'; done > week.jsonl",
        "bellwether simulate trace week.jsonl --fleet 2x1@1.0 --compare fifo";
    "bellwether simulate predict": "bellwether simulate predict week.jsonl";
    "bellwether simulate faults": "bellwether simulate faults --seeds 2";
    "bellwether simulate cluster": "bellwether simulate cluster --seeds 2";
    "bellwether doctor": "bellwether doctor";
    "bellwether audit": "bellwether audit --action job_cancelled";
    "bellwether workers keys": "bellwether workers keys";
    "bellwether worker key": "bellwether worker key";
    "bellwether worker rotate-key": "bellwether worker rotate-key w1";
    "bellwether workers approve": "bellwether workers approve w3 $(bellwether worker key)";
    "bellwether workers revoke": "bellwether workers revoke w3";
    "bellwether queue check":
        "echo 'queue: {backend: sqlite, path: queue.sqlite}' > queue.yaml",
        "bellwether queue check --config queue.yaml";
    "bellwether workers invite": "bellwether workers invite w2";
    "bellwether token issue": "bellwether token issue --role submitter --role viewer ci";
    "bellwether token show": "bellwether token show > token";
    "bellwether token header": "bellwether token header > header";
    "bellwether completions": "bellwether completions bash > completions.bash";
}
