//! Captures, which whoever sent the packets has written in part.

use std::io::Cursor;

use dnsdyno_capture::contents::Survey;
use dnsdyno_capture::{CaptureReader, Compression, MessageWriter, OutputFormat, ReadSettings};

/// A pcap or pcapng file: whatever it gives can be counted, and be written as a capture that gives the same messages.
///
/// The first octet says which of three ports carries DNS beside 53.
pub fn pcap(data: &[u8]) {
    let Some((choice, file)) = data.split_first() else { return };
    let settings =
        ReadSettings { ports: vec![53, [5353, 853, 0][usize::from(choice % 3)]], ..ReadSettings::default() };
    read(file, &settings, OutputFormat::Dnstap);
}

/// A dnstap file.
pub fn dnstap(data: &[u8]) {
    read(data, &ReadSettings::default(), OutputFormat::Dnstap);
}

fn read(file: &[u8], settings: &ReadSettings, format: OutputFormat) {
    // What decompresses has its own limits, in memory that a fuzzer may not take.
    if Compression::of(file).is_some() {
        return;
    }
    let (messages, written) = pass(file, settings, format);
    let (again, _) = pass(&written, &ReadSettings::default(), format);
    assert_eq!(again, messages, "a capture that was written gives the messages that were written");
}

/// The number of messages that a file gives before its end or its first error, and the messages in another format.
fn pass(file: &[u8], settings: &ReadSettings, format: OutputFormat) -> (u64, Vec<u8>) {
    let file: Box<Cursor<Vec<u8>>> = Box::new(Cursor::new(file.to_vec()));
    let Ok(mut writer) = MessageWriter::new(format, Vec::new()) else { return (0, Vec::new()) };
    let mut survey = Survey::default();
    let Ok(mut reader) = CaptureReader::from_reader_with(file, "fuzz", settings) else {
        return (0, Vec::new());
    };
    while let Ok(Some(message)) = reader.next() {
        assert!(message.bytes.len() >= 12, "a message has a header");
        survey.add(&message);
        assert!(writer.write(&message).is_ok(), "memory can be written");
    }
    let counts = *reader.counts();
    let contents = survey.contents(counts);
    assert_eq!(contents.queries + contents.responses, counts.messages, "each message is counted once");
    let Ok((written, _)) = writer.finish() else { return (0, Vec::new()) };
    (counts.messages, written)
}
