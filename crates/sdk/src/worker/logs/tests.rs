use super::*;

const LIMIT: usize = 200 << 10;

fn outbox() -> Outbox {
    let outbox = Outbox::default();
    outbox.reconnected(LIMIT as u64);
    outbox
}

fn print(outbox: &Outbox, pen: &Pen, token: u64, data: &[u8]) {
    let stream = v1::LogStream::Stdout;
    outbox.write(pen, Print { job: token, token, stream, at: 1, data });
}

fn bytes(chunks: &[v1::LogChunk]) -> usize {
    chunks.iter().map(|chunk| chunk.data.len()).sum()
}

#[test]
fn lines_that_are_printed_together_are_one_chunk() {
    let (outbox, pen) = (outbox(), Pen::default());
    for _ in 0..1_000 {
        print(&outbox, &pen, 1, b"a line\n");
    }
    let chunks = outbox.take(Instant::now());
    assert_eq!(chunks.len(), 1);
    assert_eq!(chunks[0].data.len(), 7_000);
    assert!(!outbox.has_unsent());
}

#[test]
fn what_was_not_confirmed_is_sent_again_in_order() {
    let (outbox, pen) = (outbox(), Pen::default());
    for _ in 0..3 {
        print(&outbox, &pen, 1, &[b'x'; CHUNK_BYTES]);
    }
    assert_eq!(outbox.take(Instant::now()).len(), 3);
    outbox.confirmed(1);
    outbox.reconnected(LIMIT as u64);
    print(&outbox, &pen, 1, b"new");
    let again = outbox.take(Instant::now());
    let positions: Vec<u64> = again.iter().map(|chunk| chunk.position.unwrap()).collect();
    let size = CHUNK_BYTES as u64;
    assert_eq!(positions, [size, 2 * size, 3 * size]);
    outbox.confirmed(3);
    assert!(outbox.is_clear());
}

#[test]
fn whoever_prints_fast_is_sent_at_a_pace_and_its_end_is_whole() {
    let (outbox, pen) = (outbox(), Pen::default());
    let now = Instant::now();
    print(&outbox, &pen, 1, &vec![b'x'; LIMIT / 2 + CHUNK_BYTES]);
    assert!(bytes(&outbox.take(now)) > 0);
    for _ in 0..200 {
        print(&outbox, &pen, 1, &[b'x'; CHUNK_BYTES]);
        outbox.take(now);
        outbox.confirmed(u64::MAX);
    }
    // A burst, then nothing until the next interval.
    assert!(outbox.take(now).is_empty());
    assert_eq!(bytes(&outbox.take(now + PACE_INTERVAL)), PACE_BYTES);
    print(&outbox, &pen, 1, &[b'x'; LIMIT]);
    outbox.close(&pen, 1);
    let last = outbox.take(now);
    assert!(bytes(&last) > LIMIT / 2 - CHUNK_BYTES && bytes(&last) <= LIMIT / 2);
    let last = last.last().unwrap();
    let printed = LIMIT / 2 + CHUNK_BYTES + 200 * CHUNK_BYTES + LIMIT;
    assert_eq!(last.position.unwrap() + last.data.len() as u64, printed as u64);
    assert_eq!(outbox.lock().unsent_bytes, 0);
}

#[test]
fn an_attempt_that_has_ended_prints_nothing_more() {
    let (outbox, pen) = (outbox(), Pen::default());
    print(&outbox, &pen, 1, b"before");
    outbox.close(&pen, 1);
    print(&outbox, &pen, 1, b"after");
    assert_eq!(bytes(&outbox.take(Instant::now())), 6);
    print(&outbox, &pen, 1, b"after");
    assert!(!outbox.has_unsent());
    let silent = Pen::default();
    outbox.close(&silent, 2);
    print(&outbox, &silent, 2, b"after");
    assert!(!outbox.has_unsent() && outbox.lock().attempts.is_empty());
}

#[test]
fn what_waits_is_bounded_however_many_print_and_nobody_listens() {
    let outbox = outbox();
    let pens: Vec<Pen> = (0..100).map(|_| Pen::default()).collect();
    for _ in 0..20 {
        for (token, pen) in pens.iter().enumerate() {
            print(&outbox, pen, token as u64, &[b'x'; CHUNK_BYTES]);
        }
    }
    assert!(outbox.lock().unsent_bytes <= BYTES_MAX);
    for (token, pen) in pens.iter().enumerate() {
        outbox.close(pen, token as u64);
    }
    outbox.take(Instant::now());
    assert!(outbox.lock().sent_bytes <= BYTES_MAX);
}

#[test]
fn a_scheduler_that_keeps_no_output_is_sent_none() {
    let (outbox, pen) = (outbox(), Pen::default());
    print(&outbox, &pen, 1, b"lost");
    outbox.reconnected(0);
    print(&outbox, &pen, 1, b"lost");
    assert!(outbox.is_clear());
}
