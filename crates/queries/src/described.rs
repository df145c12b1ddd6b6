//! Queries as lines of a query file.

use dnsdyno_wire::{
    FLAG_AD, FLAG_CD, FLAG_RD, HEADER_LEN, OPTION_HEAD_LEN, QueryForm, class_name, name_to_text, peek,
    type_name,
};

use super::queries::{Queries, QueriesBuilder};
use super::text::{IdnNames, Words, read_extended};
use super::words::next_word;

impl Queries {
    /// Query `i` as a line that gives the same message in a run whose queries have this form; `None` if no line does.
    pub fn line(&self, i: usize, form: QueryForm) -> Option<String> {
        let message = self.message(i);
        let found = peek(message).ok()?;
        let name = self.name_text(i, found.qname())?;
        let class = u16::from_be_bytes(*found.question.last_chunk()?);
        let mut line = format!("{name} {}", type_name(found.qtype()?));
        let mut plain = Vec::new();
        form.encode(found.qname(), found.qtype()?, &mut plain);
        if plain == message {
            return Some(line);
        }
        let mut add = |word: String| {
            line.push(' ');
            line.push_str(&word);
        };
        if class != form.class {
            add(format!("class={}", class_name(class)));
        }
        for (word, bit, usual) in [
            ("rd", FLAG_RD, form.recursion_desired),
            ("cd", FLAG_CD, form.checking_disabled),
            ("ad", FLAG_AD, form.authentic_data),
        ] {
            let is_set = found.flags & bit != 0;
            if is_set != usual {
                add(format!("{word}={}", u8::from(is_set)));
            }
        }
        let tail = &message[HEADER_LEN + found.question.len()..];
        match tail.split_first_chunk::<OPT_FIXED_LEN>() {
            None if form.edns_size_sent().is_some() => add("edns=0".to_owned()),
            None => {}
            Some((opt, mut options)) => {
                let size = u16::from_be_bytes([opt[3], opt[4]]);
                if form.edns_size_sent() != Some(size) {
                    add(format!("edns={size}"));
                }
                let dnssec_ok = opt[7] & 0x80 != 0;
                if dnssec_ok != form.dnssec_ok {
                    add(format!("do={}", u8::from(dnssec_ok)));
                }
                if form.nsid {
                    options = options.get(OPTION_HEAD_LEN..)?;
                }
                options = options.strip_prefix(form.options.bytes())?;
                while let Some((head, rest)) = options.split_first_chunk::<OPTION_HEAD_LEN>() {
                    let (data, rest) =
                        rest.split_at_checked(usize::from(u16::from_be_bytes([head[2], head[3]])))?;
                    let hex: String = data.iter().map(|octet| format!("{octet:02x}")).collect();
                    add(format!("opt={}:{hex}", u16::from_be_bytes([head[0], head[1]])));
                    options = rest;
                }
            }
        }
        (message_of(&line, form).as_deref() == Some(message)).then_some(line)
    }

    /// The name with its placeholders.
    fn name_text(&self, i: usize, name: &[u8]) -> Option<String> {
        let places = self.placeholders(i);
        if places.is_empty() {
            return Some(name_to_text(name));
        }
        // Each label is written on its own, in parts between its placeholders.
        let (mut text, mut at) = (String::new(), 0);
        while let Some(length) = name.get(at).map(|length| usize::from(*length)).filter(|length| *length > 0)
        {
            if !text.is_empty() {
                text.push('.');
            }
            let (mut from, end) = (at + 1, at + 1 + length);
            for place in places {
                let range = place.range();
                let start = range.start.checked_sub(HEADER_LEN)?;
                if (from..end).contains(&start) {
                    push_part(name.get(from..start)?, &mut text);
                    text.push_str(&place.to_text());
                    from = start + range.len();
                }
            }
            push_part(name.get(from..end)?, &mut text);
            at = end;
        }
        Some(text)
    }
}

/// Appends a part of a label as text.
fn push_part(part: &[u8], text: &mut String) {
    if !part.is_empty() {
        text.push_str(&name_to_text(&[&[part.len() as u8], part, &[0]].concat()));
    }
}

/// The message that a line gives.
fn message_of(line: &str, form: QueryForm) -> Option<Vec<u8>> {
    let (name, rest) = next_word(line.as_bytes());
    let (qtype, more) = next_word(rest);
    let (mut wire, mut builder) = (Vec::new(), QueriesBuilder::new(form, 0));
    let query =
        read_extended(&Words { name, qtype, more }, form, &mut wire, &mut IdnNames::default()).ok()?;
    query.push(&wire, &mut builder).ok()?;
    Some(builder.finish().message(0).to_vec())
}

/// An OPT record without its options.
const OPT_FIXED_LEN: usize = dnsdyno_wire::OPT_LEN;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Reading, read_text};
    use proptest::prelude::*;

    fn lines(text: &str, form: QueryForm) -> Vec<Option<String>> {
        let queries =
            read_text(text.as_bytes(), "q", 0, &Reading { form, ..Reading::default() }).unwrap().queries;
        (0..queries.len()).map(|i| queries.line(i, form)).collect()
    }

    #[test]
    fn a_query_is_written_as_the_line_it_was_read_from() {
        for form in [
            QueryForm::default(),
            QueryForm { nsid: true, dnssec_ok: true, recursion_desired: false, ..QueryForm::default() },
        ] {
            for line in [
                "www.example A",
                "{rand:8}.a{n:00..99}-{rand:3..9}.example TYPE999",
                "\\{x\\.y.example MX class=CH cd=1",
                "a A edns=1400 opt=65001:0a0b opt=3:",
                ". NS ad=1",
            ] {
                assert_eq!(lines(line, form), [Some(line.to_owned())]);
            }
        }
        let form = QueryForm { nsid: true, ..QueryForm::default() };
        assert_eq!(lines("a A edns=0 rd=0", form), [Some("a A rd=0 edns=0".to_owned())]);
    }

    proptest! {
        #[test]
        fn a_line_gives_the_same_message_again(
            bits in "( (rd|cd|ad|do)=[01]){0,3}", edns in "( edns=(512|4096))?",
            opt in "( opt=[0-9]{1,4}:([0-9a-f]{2}){0,5}){0,2}"
        ) {
            let text = format!("www.example A{bits}{edns}{opt}");
            let line = lines(&text, QueryForm::default()).remove(0).unwrap();
            let message = |text: &str| message_of(text, QueryForm::default()).unwrap();
            prop_assert_eq!(message(&line), message(&text));
        }
    }
}
