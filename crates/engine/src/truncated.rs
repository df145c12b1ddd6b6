//! Which questions have fallen back to TCP, in memory that is taken before the load: a truncated response costs a look
//! into a table, beside the connection that follows it.

use dnsdyno_measure::{Truncated, TruncatedQuestion};
use dnsdyno_wire::{QUESTION_FIXED_LEN, name_to_text, type_name};

/// The questions of a worker. Without a fallback it takes no memory.
#[derive(Debug, Default)]
pub(crate) struct TruncatedQuestions {
    /// Twice as many places as questions: the number of a question, from 1 on; 0: none. A question is at the place of
    /// its hash, or at the next free one after it.
    places: Box<[u16]>,
    counted: Vec<Counted>,
    /// The questions, one behind the other.
    octets: Vec<u8>,
    /// Responses to questions for which there was no room.
    not_told_apart: u64,
}

#[derive(Debug)]
struct Counted {
    hash: u64,
    from: u32,
    length: u16,
    count: u64,
}

/// So many questions are told apart: an operator has some thousand tracking areas. A power of two.
const MOST_QUESTIONS: usize = 1 << 13;
/// Octets of all of them: a usual name has half as many as that gives each.
const MOST_OCTETS: usize = MOST_QUESTIONS * 96;

impl TruncatedQuestions {
    /// For a worker with a fallback.
    pub(crate) fn with_room() -> Self {
        TruncatedQuestions {
            places: vec![0; 2 * MOST_QUESTIONS].into(),
            counted: Vec::with_capacity(MOST_QUESTIONS),
            octets: Vec::with_capacity(MOST_OCTETS),
            not_told_apart: 0,
        }
    }

    /// Counts a question, as on the wire, whose response was truncated.
    pub(crate) fn note(&mut self, question: &[u8]) {
        let hash = hash_of(question);
        let mask = self.places.len().wrapping_sub(1);
        let mut place = hash as usize & mask;
        while let Some(number) = self.places.get(place).copied() {
            let Some(at) = usize::from(number).checked_sub(1) else { break };
            if let Some(counted) = self.counted.get_mut(at)
                && counted.hash == hash
                && stored(&self.octets, counted).eq_ignore_ascii_case(question)
            {
                counted.count += 1;
                return;
            }
            place = (place + 1) & mask;
        }
        self.add(place, hash, question);
    }

    fn add(&mut self, place: usize, hash: u64, question: &[u8]) {
        let has_room =
            self.counted.len() < MOST_QUESTIONS && self.octets.len() + question.len() <= MOST_OCTETS;
        let (Some(number), true, Ok(length)) =
            (self.places.get_mut(place), has_room, question.len().try_into())
        else {
            self.not_told_apart += 1;
            return;
        };
        let from = self.octets.len() as u32;
        self.octets.extend_from_slice(question);
        self.counted.push(Counted { hash, from, length, count: 1 });
        *number = self.counted.len() as u16;
    }

    /// What was counted; `None` without any truncated response.
    pub(crate) fn counted(&self) -> Option<Truncated> {
        if self.counted.is_empty() && self.not_told_apart == 0 {
            return None;
        }
        let question = |counted: &Counted| {
            let wire = stored(&self.octets, counted);
            let (name, fixed) = wire.split_at(wire.len().saturating_sub(QUESTION_FIXED_LEN));
            let rtype = fixed.first_chunk().map_or(0, |rtype| u16::from_be_bytes(*rtype));
            TruncatedQuestion {
                name: name_to_text(name),
                rtype: type_name(rtype).into_owned(),
                count: counted.count,
            }
        };
        Some(Truncated::of(self.counted.iter().map(question), self.not_told_apart))
    }
}

fn stored<'a>(octets: &'a [u8], counted: &Counted) -> &'a [u8] {
    let from = counted.from as usize;
    octets.get(from..from + usize::from(counted.length)).unwrap_or_default()
}

/// FNV-1a, with letters in lower case.
fn hash_of(question: &[u8]) -> u64 {
    question.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(name: &str) -> Vec<u8> {
        [&[name.len() as u8], name.as_bytes(), b"\0\0\x23\0\x01"].concat()
    }

    #[test]
    fn each_question_is_counted_whatever_the_case_of_its_letters() {
        let mut questions = TruncatedQuestions::with_room();
        assert_eq!(questions.counted(), None);
        for (name, count) in [("tac1", 3), ("TAC1", 2), ("tac2", 1)] {
            (0..count).for_each(|_| questions.note(&question(name)));
        }
        let counted = questions.counted().unwrap();
        let shown: Vec<_> =
            counted.questions.iter().map(|one| (one.name.as_str(), one.rtype.as_str(), one.count)).collect();
        assert_eq!(shown, [("tac1", "NAPTR", 5), ("tac2", "NAPTR", 1)]);
    }

    #[test]
    fn what_has_no_room_is_counted_and_takes_no_memory() {
        let mut questions = TruncatedQuestions::with_room();
        let (octets, counted) = (questions.octets.capacity(), questions.counted.capacity());
        for number in 0..MOST_QUESTIONS + 100 {
            (0..2).for_each(|_| questions.note(&question(&format!("n{number}"))));
        }
        assert_eq!((questions.octets.capacity(), questions.counted.capacity()), (octets, counted));
        let truncated = questions.counted().unwrap();
        assert_eq!(truncated.not_told_apart, 200);
        assert_eq!(truncated.total(), 2 * (MOST_QUESTIONS as u64 + 100));
        assert!(truncated.questions.iter().all(|one| one.count == 2), "{truncated:?}");

        let mut without = TruncatedQuestions::default();
        without.note(&question("n"));
        assert_eq!(without.counted().map(|truncated| truncated.total()), Some(1));
    }
}
