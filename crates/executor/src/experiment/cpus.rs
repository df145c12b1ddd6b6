//! The CPUs of generator and servers.

/// The CPUs of the two sides; empty = all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cpus {
    pub(super) generator: Vec<usize>,
    pub(super) servers: Vec<usize>,
}

impl Cpus {
    /// Half of the allowed CPUs for each side; none pinned where there is only one.
    pub(super) fn halves(allowed: &[usize]) -> Cpus {
        match allowed.split_at(allowed.len().div_ceil(2)) {
            (_, []) => Cpus::default(),
            (generator, servers) => Cpus { generator: generator.to_vec(), servers: servers.to_vec() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generator_and_servers_have_cpus_of_their_own_where_there_are_two() {
        let halves = |allowed: &[usize]| Cpus::halves(allowed);
        assert_eq!(halves(&[0]), Cpus::default());
        assert_eq!(halves(&[0, 1]), Cpus { generator: vec![0], servers: vec![1] });
        assert_eq!(halves(&[2, 3, 6]), Cpus { generator: vec![2, 3], servers: vec![6] });
    }
}
