//! The clients that may send next, in a queue.

/// How many queries the first client of a queue of `clients` is given, which could send `capacity`.
///
/// With many clients, one without a connection is given one: the queries of a batch then open as many connections, not
/// one.
pub(crate) fn capacity_of_next(is_new: bool, clients: usize, capacity: usize) -> usize {
    if is_new && clients > FEW_CLIENTS { capacity.min(1) } else { capacity }
}

/// As many as a batch has queries.
const FEW_CLIENTS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_clients_a_new_one_is_given_one_query() {
        assert_eq!(capacity_of_next(true, 65, usize::MAX), 1);
        assert_eq!(capacity_of_next(true, 64, usize::MAX), usize::MAX);
        assert_eq!(capacity_of_next(false, 65, usize::MAX), usize::MAX);
        assert_eq!(capacity_of_next(true, 65, 0), 0);
    }
}
