//! What the edge costs: CPU time to read one submitted job off the wire, and to parse it.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::hint::black_box;

use bellwether_core::model::JobId;
use bellwether_wire::job::submission_from_wire;
use bellwether_wire::v1;
use bytes::Bytes;
use prost::Message as _;

const JOBS: usize = 1_000;
const ROUNDS: usize = 300;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let submissions = (0..JOBS)
        .map(|number| v1::Submission {
            run_id: String::new(),
            jobs: vec![v1::JobSpec {
                payload: Bytes::from_static(&[b'x'; 100]),
                ..v1::JobSpec::new(format!("0199f8a1-7b7c-7d3e-8e21-{number:012}"), "resize")
            }],
            ..Default::default()
        })
        .collect();
    let bytes = Bytes::from(v1::SubmitRequest { submissions }.encode_to_vec());
    let mut generate = || JobId::fixed("generated");

    let (mut decoding, mut parsing) = (0, 0);
    for _ in 0..ROUNDS {
        let start = cpu_nanos()?;
        let request = v1::SubmitRequest::decode(black_box(bytes.clone()))?;
        let decoded = cpu_nanos()?;
        for submission in &request.submissions {
            black_box(submission_from_wire(submission, &mut generate)?);
        }
        decoding += decoded - start;
        parsing += cpu_nanos()? - decoded;
    }
    let jobs = (JOBS * ROUNDS) as u64;
    println!("decode {} ns, parse {} ns a job", decoding / jobs, parsing / jobs);
    Ok(())
}

/// Of this thread, so that others on the machine do not count.
fn cpu_nanos() -> Result<u64, Box<dyn std::error::Error>> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(statistics.split(' ').next().ok_or("no statistics of this thread")?.parse()?)
}
