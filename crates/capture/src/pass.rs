//! One pass over captures: what a selection keeps is counted, or written.

use std::io::{self, Write};

use crate::contents::{Contents, Survey};
use crate::merge::Merge;
use crate::message::DnsMessage;
use crate::select::Selection;
use crate::write::MessageWriter;

/// What is in the captures, as far as it is selected.
pub fn contents_of(captures: &mut Merge, selection: &Selection) -> Contents {
    let mut survey = Survey::default();
    let mut first_unix_ns = None;
    while let Some(message) = captures.next() {
        if selection.keeps(&message, *first_unix_ns.get_or_insert(message.at_unix_ns)) {
            survey.add(&message);
        }
    }
    survey.contents(captures.counts())
}

/// Writes the selected messages. With `start_unix_ns` all instants are moved, so that the first one written is that.
///
/// # Errors
/// Writing failed.
pub fn copy<W: Write>(
    captures: &mut Merge,
    selection: &Selection,
    start_unix_ns: Option<u64>,
    to: &mut MessageWriter<W>,
) -> io::Result<()> {
    let (mut first_unix_ns, mut first_kept_unix_ns) = (None, None);
    while let Some(message) = captures.next() {
        if !selection.keeps(&message, *first_unix_ns.get_or_insert(message.at_unix_ns)) {
            continue;
        }
        let first_kept_unix_ns = *first_kept_unix_ns.get_or_insert(message.at_unix_ns);
        let at_unix_ns = match start_unix_ns {
            Some(start_unix_ns) => {
                start_unix_ns.saturating_add(message.at_unix_ns.saturating_sub(first_kept_unix_ns))
            }
            None => message.at_unix_ns,
        };
        to.write(&DnsMessage { at_unix_ns, ..message })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{START_NS, read, some, written};
    use crate::{CaptureReader, OutputFormat, When};

    fn captures() -> Merge {
        let file = std::io::Cursor::new(written(OutputFormat::Pcap, &some()));
        Merge::new(vec![CaptureReader::from_reader(Box::new(file), "c.pcap").unwrap()])
    }

    #[test]
    fn a_part_is_written_with_a_start_of_its_own() {
        let mut writer = MessageWriter::new(OutputFormat::Pcap, Vec::new()).unwrap();
        let selection = Selection {
            from: Some(When::After(50_000_000)),
            to: Some(When::At(START_NS + 100_000_000)),
            queries_only: true,
            ..Selection::default()
        };
        copy(&mut captures(), &selection, Some(7_000_000_000), &mut writer).unwrap();
        let (file, counts) = writer.finish().unwrap();
        let instants: Vec<_> = read(file).0.iter().map(|message| message.at_unix_ns).collect();
        assert_eq!(instants, [0, 10, 20, 30, 40].map(|ms| 7_000_000_000 + ms * 1_000_000));
        assert_eq!(counts.messages, 5);
    }

    #[test]
    fn the_formats_of_queries_hold_the_queries_and_count_what_they_lose() {
        let mut chaos = some()[0].clone();
        *chaos.bytes.last_mut().unwrap() = 3;
        (chaos.bytes[2], chaos.bytes[3]) = (0, 0x30);
        let mut with_edns = some()[2].clone();
        with_edns.bytes[11] = 2;
        with_edns.bytes.extend([0, 0, 41, 4, 0xd0, 0, 0, 0x80, 0, 0, 5, 0, 10, 0, 1, 0xab]);
        // An address, which a query seldom has beside its question.
        with_edns.bytes.extend([0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 192, 0, 2, 1]);
        let mut braces = some()[0].clone();
        braces.bytes[13] = b'{';
        let messages = [&some()[..2], &[chaos, with_edns, braces]].concat();
        let mut writer = MessageWriter::new(OutputFormat::Text, Vec::new()).unwrap();
        messages.iter().for_each(|message| writer.write(&message.borrowed()).unwrap());
        let (text, counts) = writer.finish().unwrap();
        let want = [
            "q0.example.com A",
            "q0.example.com A class=CH rd=0 ad=1 cd=1",
            "q10.example.com A edns=1232 do=1 opt=10:ab",
            r"\{0.example.com A",
        ];
        assert_eq!(String::from_utf8(text).unwrap(), want.map(|line| format!("{line}\n")).concat());
        assert_eq!((counts.messages, counts.responses_left_out), (4, 1));
        assert_eq!((counts.flags_lost, counts.records_lost), (0, 1));
        let binary = written(OutputFormat::Binary, &messages);
        let want: Vec<u8> = [&messages[0], &messages[2], &messages[3], &messages[4]]
            .iter()
            .flat_map(|message| [&(message.bytes.len() as u16).to_be_bytes()[..], &message.bytes].concat())
            .collect();
        assert_eq!(binary, want);
    }

    #[test]
    fn contents_are_those_of_the_selected_messages() {
        let selection = Selection { queries_only: true, ..Selection::default() };
        let contents = contents_of(&mut captures(), &selection);
        assert_eq!((contents.queries, contents.responses, contents.read.messages), (20, 0, 40));
    }
}
