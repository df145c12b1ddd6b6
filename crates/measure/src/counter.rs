//! What all counters have in common, and the table in which counters are declared.
//!
//! A counter is one field in [`counters!`], with its doc comment. The macro generates the code that merges, clears,
//! writes, reads and visits it, and its part of the record's schema. No other place lists the counters, so none can
//! omit one.
//!
//! ```text
//!   counters! { pub struct Ends { pub answered: u64, pub not_sent: NotSent, ... } }
//! ```

use crate::Histogram;

/// A number, a histogram, or a group of counters.
pub trait Counter {
    /// Adds the counts of `other`, from another worker over the same time.
    fn merge(&mut self, other: &Self);

    /// Adds the counts of a later time: as [`merge`](Self::merge), but of two peaks the larger one is kept.
    fn merge_in_time(&mut self, later: &Self);

    /// Resets to 0 and keeps the allocated memory.
    fn clear(&mut self);

    /// Whether nothing was counted; such a counter is not written.
    fn is_nothing(&self) -> bool;

    /// Passes the counter to the visitor, with its key.
    fn visit(&self, key: &str, visitor: &mut dyn Visitor);
}

/// Receives each counter, also those that are 0.
pub trait Visitor {
    /// A number.
    fn count(&mut self, key: &str, count: u64);

    /// Durations.
    fn histogram(&mut self, key: &str, histogram: &Histogram);

    /// A group of counters; `None` where the run has no such group.
    fn group(&mut self, key: &str, group: Option<&dyn Group>);
}

/// A group of counters.
pub trait Group {
    /// Passes each counter of the group to the visitor, in order.
    fn visit_each(&self, visitor: &mut dyn Visitor);
}

impl Counter for u64 {
    // Nanoseconds of many queries can be more than 64 bits hold, and a record can contain any number.
    fn merge(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }

    fn merge_in_time(&mut self, later: &Self) {
        self.merge(later);
    }

    fn clear(&mut self) {
        *self = 0;
    }

    fn is_nothing(&self) -> bool {
        *self == 0
    }

    fn visit(&self, key: &str, visitor: &mut dyn Visitor) {
        visitor.count(key, *self);
    }
}

impl Counter for Histogram {
    fn merge(&mut self, other: &Self) {
        self.merge(other);
    }

    fn merge_in_time(&mut self, later: &Self) {
        self.merge(later);
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn is_nothing(&self) -> bool {
        self.count() == 0
    }

    fn visit(&self, key: &str, visitor: &mut dyn Visitor) {
        visitor.histogram(key, self);
    }
}

impl<T: Counter + Group + Default> Counter for Option<Box<T>> {
    fn merge(&mut self, other: &Self) {
        if let Some(other) = other {
            self.get_or_insert_default().merge(other);
        }
    }

    fn merge_in_time(&mut self, later: &Self) {
        if let Some(later) = later {
            self.get_or_insert_default().merge_in_time(later);
        }
    }

    fn clear(&mut self) {
        if let Some(counters) = self {
            counters.clear();
        }
    }

    fn is_nothing(&self) -> bool {
        self.is_none()
    }

    fn visit(&self, key: &str, visitor: &mut dyn Visitor) {
        visitor.group(key, self.as_deref().map(|group| group as &dyn Group));
    }
}

/// A list in which the index says what is counted; two lists are merged index by index.
impl<T: Counter + Clone + Default> Counter for Vec<T> {
    fn merge(&mut self, other: &Self) {
        self.resize(self.len().max(other.len()), T::default());
        self.iter_mut().zip(other).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    fn merge_in_time(&mut self, later: &Self) {
        self.resize(self.len().max(later.len()), T::default());
        self.iter_mut().zip(later).for_each(|(mine, theirs)| mine.merge_in_time(theirs));
    }

    fn clear(&mut self) {
        self.iter_mut().for_each(T::clear);
    }

    // Its length is information too.
    fn is_nothing(&self) -> bool {
        self.is_empty()
    }

    fn visit(&self, key: &str, visitor: &mut dyn Visitor) {
        visitor.group(key, Some(self));
    }
}

impl<T: Counter> Group for Vec<T> {
    fn visit_each(&self, visitor: &mut dyn Visitor) {
        self.iter().enumerate().for_each(|(place, counter)| counter.visit(&place.to_string(), visitor));
    }
}

/// Declares a struct of counters: public fields with their doc comments, each of a type that is a [`Counter`].
/// `= peak` after a type: over time the larger value is kept, not the sum. `= largest`: over workers too.
macro_rules! counters {
    (
        $(#[$outer:meta])*
        pub struct $name:ident {
            $( $(#[$inner:meta])* pub $field:ident: $type:ty $(= $rule:ident)? ),+ $(,)?
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(default)]
        pub struct $name {
            $(
                $(#[$inner])*
                #[serde(skip_serializing_if = "crate::Counter::is_nothing")]
                pub $field: $type,
            )+
        }

        impl $name {
            /// Adds the counts of `other`, from another worker over the same time.
            pub fn merge(&mut self, other: &Self) {
                $( crate::counter::counters!(@merge (&mut self.$field) (&other.$field) $($rule)?); )+
            }

            /// Adds the counts of a later time: as [`merge`](Self::merge), but of two peaks the larger one is kept.
            pub fn merge_in_time(&mut self, later: &Self) {
                $( crate::counter::counters!(@in_time (&mut self.$field) (&later.$field) $($rule)?); )+
            }

            /// Resets to 0 and keeps the allocated memory.
            pub fn clear(&mut self) {
                $( crate::Counter::clear(&mut self.$field); )+
            }
        }

        impl crate::Counter for $name {
            fn merge(&mut self, other: &Self) {
                self.merge(other);
            }

            fn merge_in_time(&mut self, later: &Self) {
                self.merge_in_time(later);
            }

            fn clear(&mut self) {
                self.clear();
            }

            fn is_nothing(&self) -> bool {
                true $( && crate::Counter::is_nothing(&self.$field) )+
            }

            fn visit(&self, key: &str, visitor: &mut dyn crate::Visitor) {
                visitor.group(key, Some(self));
            }
        }

        impl crate::Group for $name {
            fn visit_each(&self, visitor: &mut dyn crate::Visitor) {
                $( crate::Counter::visit(&self.$field, stringify!($field), visitor); )+
            }
        }
    };
    (@in_time ($mine:expr) ($later:expr)) => { crate::Counter::merge_in_time($mine, $later) };
    (@in_time ($mine:expr) ($later:expr) $largest:ident) => { *$mine = (*$mine).max(*$later) };
    (@merge ($mine:expr) ($other:expr) largest) => { *$mine = (*$mine).max(*$other) };
    (@merge ($mine:expr) ($other:expr) $($peak:ident)?) => { crate::Counter::merge($mine, $other) };
}

pub(crate) use counters;
