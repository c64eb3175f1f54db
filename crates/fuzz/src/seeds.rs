//! What inputs are made of: the corpus, and what the program itself writes.

use bellwether_core::model::{
    Config, Epoch, HandoffSignature, JobId, Name, Receiver, Seq, Timestamp, Token, WorkerId,
};
use bellwether_journal::conformance::samples::Samples;
use bellwether_wire::event::record_to_wire;
use bellwether_wire::job::submission_to_wire;
use bellwether_wire::json::checkpoint::checkpoint_to_json;
use bellwether_wire::json::handoff::from_wire;
use bellwether_wire::json::reply::{Place, seal};
use bellwether_wire::json::{LiveConfig, submissions, worker_message_from_json};
use bellwether_wire::signing::Secret;
use bellwether_wire::signing::checkpoint::{self, Draft};
use bellwether_wire::signing::handoff::{Intent, sign, signature_text};
use bellwether_wire::v1;
use prost::Message as _;

/// Stands alone on a line between two inputs.
const BETWEEN: &str = "\n====\n";

fn split(corpus: &str) -> Vec<Vec<u8>> {
    corpus.split(BETWEEN).map(|input| input.as_bytes().to_vec()).collect()
}

pub(crate) fn jobs() -> Vec<Vec<u8>> {
    split(include_str!("../tests/corpus/jobs.txt"))
}

pub(crate) fn runs() -> Vec<Vec<u8>> {
    [split(include_str!("../tests/corpus/runs.txt")), jobs()].concat()
}

pub(crate) fn yaml() -> Vec<Vec<u8>> {
    [split(include_str!("../tests/corpus/yaml.txt")), runs()].concat()
}

pub(crate) fn worker_messages() -> Vec<Vec<u8>> {
    split(include_str!("../tests/corpus/worker_messages.txt"))
}

/// The messages of the corpus in their envelopes, and a handoff.
pub(crate) fn replies() -> Vec<Vec<u8>> {
    let secret = Secret::from_seed(&[1; 32]);
    let said = worker_messages();
    let said = said.iter().filter_map(|input| std::str::from_utf8(input).ok());
    let sealed = said.zip(1..).filter_map(|(body, number)| {
        let place = Place { scheduler: "urn:uuid:fuzz", session: &[7; 32], number };
        seal(body, place, &secret).ok()
    });
    let handoff = sign(
        Intent {
            from: WorkerId::fixed("w"),
            job: JobId::fixed("a"),
            receiver: Receiver::Worker(WorkerId::fixed("b")),
            payload: b"7",
            token: Token(42),
            epoch: Epoch(3),
            expires: Timestamp(1_800_000_000_000_000),
            previous: HandoffSignature::NONE,
        },
        "urn:uuid:fuzz",
        &secret,
    );
    let form = from_wire(v1::HandOff {
        job_id: handoff.job.to_string(),
        receiver: handoff.receiver.to_string(),
        payload_hash: handoff.payload_hash.to_vec().into(),
        signature: signature_text(&handoff),
    });
    let form = serde_json::to_vec(&form).expect("it is texts");
    sealed.chain([form]).collect()
}

/// One alone, and as queues carry them.
pub(crate) fn checkpoints() -> Vec<Vec<u8>> {
    let draft = Draft {
        scheduler: Name::fixed("urn:uuid:fuzz"),
        position: Seq(42),
        chain: [7; 32],
        epoch: Epoch(3),
        at: Timestamp(1_800_000_000_000_000),
    };
    let own = checkpoint_to_json(&checkpoint::sign(draft, &Secret::from_seed(&[1; 32])));
    let kind = "bellwether.checkpoint_signed";
    let event = serde_json::json!([{"specversion": "1.0", "type": kind, "data": own}]);
    [own, event].map(|seed| seed.to_string().into_bytes()).into()
}

pub(crate) fn config_files() -> Vec<Vec<u8>> {
    let documented = include_bytes!("../../../scheduler.yaml").to_vec();
    [split(include_str!("../tests/corpus/config_files.txt")), vec![documented]].concat()
}

pub(crate) fn tokens() -> Vec<Vec<u8>> {
    split(include_str!("../tests/corpus/tokens.txt"))
}

pub(crate) fn live_config() -> Vec<Vec<u8>> {
    let shown = serde_json::to_vec(&LiveConfig::from(&Config::default()));
    vec![shown.expect("a configuration can be shown")]
}

/// The jobs and runs of the corpus, as a client sends them.
pub(crate) fn submit() -> Vec<Vec<u8>> {
    let texts = runs();
    let texts = texts.iter().filter_map(|input| std::str::from_utf8(input).ok());
    let generate = &mut || JobId::fixed("generated");
    let mut requests = Vec::new();
    for text in texts {
        let read = submissions(text, generate).unwrap_or_default().into_iter();
        let submissions = read.map(|draft| submission_to_wire(&draft.complete(generate))).collect();
        requests.push(v1::SubmitRequest { submissions }.encode_to_vec());
    }
    requests
}

/// The messages of the corpus, as a worker sends them that speaks gRPC.
pub(crate) fn session() -> Vec<Vec<u8>> {
    let said = worker_messages();
    let said = said.iter().filter_map(|input| worker_message_from_json(input).ok());
    said.map(|said| said.message.encode_to_vec()).collect()
}

pub(crate) fn records() -> Vec<Vec<u8>> {
    let record = |seed| {
        let entries = Samples::new(seed, Seq(seed)).every_kind();
        record_to_wire(Epoch(1), &entries).encode_to_vec()
    };
    (0..8).map(record).collect()
}

pub(crate) fn snapshots() -> Vec<Vec<u8>> {
    let golden: [&[u8]; 2] = [
        include_bytes!("../../journal/tests/golden/v2.snapshot"),
        include_bytes!("../../journal/tests/golden/v3.snapshot"),
    ];
    golden.map(<[u8]>::to_vec).into()
}
