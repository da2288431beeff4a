//! Every record is read once and in its order, and memory that was read is used again.

use super::super::event::CallbackFields;
use super::*;

fn record(sequence: u64) -> Record {
    Record { sequence, time: 0, thread: 1, rank: 0, what: CallbackFields::Stop { handle: sequence } }
}

/// Returns the records of all lists.
fn read(memory: &Memory, reader: &mut ChunkReader) -> Vec<Vec<u64>> {
    let lists = reader.lists(memory);
    let mut all = |list| {
        std::iter::from_fn(|| {
            let record = reader.next(memory, list)?;
            reader.pass(list);
            Some(record.sequence)
        })
        .collect()
    };
    (0..lists).map(&mut all).collect()
}

#[test]
fn every_thread_finds_its_records_in_order_until_there_is_no_room() {
    let memory = Memory::new(6 * 16 * 1024).unwrap();
    let push = |sequence| memory.enter().unwrap().push(record(sequence));
    std::thread::scope(|scope| {
        for first in [0, 1_000_000] {
            // two full chunks and a few records
            scope.spawn(move || assert!((first..first + RECORDS as u64 * 2 + 5).all(push)));
        }
    });
    // six chunks are taken: two threads may go on in their last chunks, this thread gets no chunk
    assert!(memory.is_pressed());
    while push(0) {}
    assert!(!push(0));
    let mut reader = ChunkReader::default();
    let lists = read(&memory, &mut reader);
    assert!(lists.iter().map(Vec::len).sum::<usize>() >= 2 * (RECORDS * 2 + 5));
    assert!(lists.iter().all(|list| list.windows(2).all(|pair| pair[0] + 1 == pair[1] || pair[1] % 1_000_000 == 0)));
    // four chunks were read to their ends and have a successor
    assert!(!memory.is_pressed() && push(7));
    assert_eq!(read(&memory, &mut reader).concat(), [7]);
}

#[test]
fn memory_that_was_read_is_used_again() {
    let memory = Memory::new(2 * 16 * 1024).unwrap();
    let mut reader = ChunkReader::default();
    std::thread::scope(|scope| {
        let memory = &memory;
        scope.spawn(move || {
            for sequence in 0..100_000 {
                // waits for memory, which no callback does
                while !memory.enter().unwrap().push(record(sequence)) {
                    std::thread::yield_now();
                }
            }
        });
        let mut expected = 0;
        while expected < 100_000 {
            for sequence in read(memory, &mut reader).concat() {
                assert_eq!(sequence, expected);
                expected += 1;
            }
        }
    });
}
