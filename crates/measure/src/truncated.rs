//! Which questions have answers that were truncated, and so were asked for again over TCP.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::bounded;

/// Questions whose responses over UDP were truncated: the most frequent ones, and how many there were of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Truncated {
    /// The most frequent questions, with their counts; the most frequent first. At most a hundred.
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_NAMED>")]
    pub questions: Vec<TruncatedQuestion>,
    /// Truncated responses to other questions.
    pub others: u64,
    /// Of these, responses to questions that were not told apart, because there were too many: each of them may have
    /// been more frequent than one that is listed.
    #[serde(default)]
    pub not_told_apart: u64,
}

/// A question, and how many of the responses to it were truncated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TruncatedQuestion {
    /// The name.
    pub name: String,
    /// The name of the type.
    pub rtype: String,
    /// Truncated responses.
    pub count: u64,
}

/// So many questions are listed at most.
const MOST_NAMED: usize = 100;

impl Truncated {
    /// The most frequent of these questions; `not_told_apart` are truncated responses to questions that are not among
    /// them.
    pub fn of(questions: impl IntoIterator<Item = TruncatedQuestion>, not_told_apart: u64) -> Self {
        let mut counts: HashMap<(String, String), u64> = HashMap::new();
        for TruncatedQuestion { name, rtype, count } in questions {
            let sum = counts.entry((name, rtype)).or_default();
            *sum = sum.saturating_add(count);
        }
        let one = |((name, rtype), count)| TruncatedQuestion { name, rtype, count };
        let mut questions: Vec<TruncatedQuestion> = counts.into_iter().map(one).collect();
        questions.sort_by(|a, b| {
            b.count.cmp(&a.count).then_with(|| (&a.name, &a.rtype).cmp(&(&b.name, &b.rtype)))
        });
        let rest = questions.split_off(questions.len().min(MOST_NAMED));
        let others = rest.iter().fold(not_told_apart, |sum, other| sum.saturating_add(other.count));
        Truncated { questions, others, not_told_apart }
    }

    /// Those of several parts of a run together; `None` where no part has any.
    pub fn joined<'a>(parts: impl IntoIterator<Item = &'a Truncated>) -> Option<Self> {
        let (mut questions, mut others, mut not_told_apart, mut is_any) = (Vec::new(), 0_u64, 0_u64, false);
        for part in parts {
            is_any = true;
            questions.extend(part.questions.iter().cloned());
            others = others.saturating_add(part.others);
            not_told_apart = not_told_apart.saturating_add(part.not_told_apart);
        }
        let listed = Truncated::of(questions, 0);
        let others = listed.others.saturating_add(others);
        is_any.then_some(Truncated { others, not_told_apart, ..listed })
    }

    /// All truncated responses.
    pub fn total(&self) -> u64 {
        self.questions.iter().fold(self.others, |sum, question| sum.saturating_add(question.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(name: &str, count: u64) -> TruncatedQuestion {
        TruncatedQuestion { name: name.to_owned(), rtype: "NAPTR".to_owned(), count }
    }

    #[test]
    fn the_most_frequent_are_listed_and_all_are_counted() {
        let many = (0..150).map(|n| question(&format!("n{n}"), n));
        let truncated = Truncated::of(many.chain([question("n7", 1_000)]), 5);
        assert_eq!(truncated.questions.len(), 100);
        assert_eq!(truncated.questions[..2], [question("n7", 1_007), question("n149", 149)]);
        assert_eq!(truncated.total(), (0..150).sum::<u64>() + 1_000 + 5);
        assert_eq!(truncated.not_told_apart, 5);
    }

    #[test]
    fn those_of_several_workers_are_added_up() {
        let one = Truncated::of([question("a", 2), question("b", 3)], 1);
        let two = Truncated::of([question("a", 2)], 0);
        let both = Truncated::joined([&one, &two]).unwrap();
        assert_eq!(both.questions, [question("a", 4), question("b", 3)]);
        assert_eq!((both.others, both.not_told_apart, both.total()), (1, 1, 8));
        assert_eq!(Truncated::joined([]), None);
    }
}
