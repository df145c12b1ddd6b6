//! A condition of a rule: `FACT is|is-not|has|<|> VALUE`.

use dnsdyno_measure::{Fact, Facts};
use serde::Deserialize;

/// A fact compared with a value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Condition {
    fact: String,
    compare: Compare,
    /// A number, a word, or the name of another fact.
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    Is,
    IsNot,
    /// The text contains it.
    Has,
    Less,
    More,
}

impl TryFrom<String> for Condition {
    type Error = String;

    fn try_from(text: String) -> Result<Condition, String> {
        let bad = || format!("{text:?}: write FACT is|is-not|has|<|> VALUE");
        let (fact, rest) = text.split_once(' ').ok_or_else(bad)?;
        let (compare, value) = rest.split_once(' ').ok_or_else(bad)?;
        let compare = match compare {
            "is" => Compare::Is,
            "is-not" => Compare::IsNot,
            "has" => Compare::Has,
            "<" => Compare::Less,
            ">" => Compare::More,
            _ => return Err(bad()),
        };
        Ok(Condition { fact: fact.to_owned(), compare, value: value.to_owned() })
    }
}

impl Condition {
    /// Whether it holds; `None` where a fact is not known.
    pub(crate) fn holds(&self, facts: &Facts) -> Option<bool> {
        let fact = facts.get(&self.fact)?;
        let ordered = || {
            let value = match (self.value.parse(), facts.get(&self.value)) {
                (Ok(number), _) => number,
                (_, Some(Fact::Number(number))) => *number,
                _ => return None,
            };
            match fact {
                Fact::Number(number) => Some(number.cmp(&value)),
                Fact::Text(_) => None,
            }
        };
        match self.compare {
            Compare::Is => Some(fact.to_string() == self.value),
            Compare::IsNot => Some(fact.to_string() != self.value),
            Compare::Has => Some(fact.to_string().contains(&self.value)),
            Compare::Less => ordered().map(std::cmp::Ordering::is_lt),
            Compare::More => ordered().map(std::cmp::Ordering::is_gt),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_compared_with_numbers_words_and_other_facts() {
        let mut facts = Facts::default();
        facts.number("a", Some(5));
        facts.number("b", Some(7));
        facts.text("c", Some("on, off"));
        for (text, holds) in [
            ("a < b", Some(true)),
            ("a > b", Some(false)),
            ("a > 4", Some(true)),
            ("a > x", None),
            ("x < 4", None),
            ("c > 4", None),
            ("c is on", Some(false)),
            ("c is-not on", Some(true)),
            ("c has off", Some(true)),
            ("c is on, off", Some(true)),
        ] {
            assert_eq!(Condition::try_from(text.to_owned()).unwrap().holds(&facts), holds, "{text}");
        }
        assert!(Condition::try_from("a = 4".to_owned()).is_err());
    }
}
