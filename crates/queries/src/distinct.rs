//! The different queries of a source, each once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hasher};

use super::queries::{Full, Own, Queries, QueriesBuilder};

/// The different messages of a source.
#[derive(Debug)]
pub struct Distinct {
    /// The first of them, each once; changed when they are sent as the queries of the source are.
    pub queries: Queries,
    /// How many there are, also beyond the first.
    pub count: usize,
    /// Which of them each query of the source is, by its number among all of them.
    pub of_query: Box<[u32]>,
}

impl Queries {
    /// The different messages of these queries, of which the first `most` are kept.
    ///
    /// # Errors
    /// They take too much memory.
    pub fn distinct(&self, most: usize) -> Result<Distinct, Full> {
        let mut builder = QueriesBuilder::new(Default::default(), 0);
        // By their hash: 64 bits are enough to tell all queries of a source apart that fit into memory.
        let mut known: HashMap<u64, u32> = HashMap::new();
        let mut of_query = Vec::with_capacity(self.len());
        for i in 0..self.len() {
            let mut hasher = DefaultHasher::new();
            hasher.write(self.message(i));
            let next = known.len() as u32;
            let number = match known.entry(hasher.finish()) {
                Entry::Occupied(number) => *number.get(),
                Entry::Vacant(vacant) => {
                    if (next as usize) < most {
                        builder.push_message(self.message(i), Own::default())?;
                    }
                    *vacant.insert(next)
                }
            };
            of_query.push(number);
        }
        let queries = match &self.maker {
            Some(maker) => builder.finish().made_by(maker.clone()),
            None => builder.finish(),
        };
        Ok(Distinct { queries, count: known.len(), of_query: of_query.into() })
    }
}

#[cfg(test)]
mod tests {
    use dnsdyno_wire::{QueryForm, encode_name};

    use super::*;

    #[test]
    fn each_message_is_there_once_and_each_query_knows_its_own() {
        let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
        for (name, qtype) in [("a.", 1), ("b.", 1), ("a.", 1), ("a.", 28), ("b.", 1), ("c.", 1)] {
            let mut wire = Vec::new();
            encode_name(name.as_bytes(), &mut wire).unwrap();
            builder.push(&wire, qtype).unwrap();
        }
        let queries = builder.finish();
        let Distinct { queries: different, count, of_query } = queries.distinct(10).unwrap();
        assert_eq!((different.len(), count, &of_query[..]), (4, 4, &[0, 1, 0, 2, 1, 3][..]));
        for (i, number) in of_query.iter().enumerate() {
            assert_eq!(different.message(*number as usize), queries.message(i));
            assert_eq!(different.question(*number as usize), queries.question(i));
        }
        let first = queries.distinct(2).unwrap();
        assert_eq!((first.queries.len(), first.count, first.of_query), (2, 4, of_query));
    }
}
