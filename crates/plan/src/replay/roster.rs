//! The clients of a replay: each source address of the capture is one, numbered as they appear, and has a socket or
//! connection of its own.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

use crate::mix::Mix;

/// The clients that have appeared.
pub struct Roster {
    seats: HashMap<IpAddr, Seat>,
    mix: Mix,
    seed: u64,
    /// The number of clients of each member of the mix.
    of_member: Vec<u32>,
    most: usize,
    hasher: RandomState,
}

/// The place of a client in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// Its member of the mix; 0 without a mix.
    pub member: u8,
    /// Its number among the clients of this member.
    pub number: u32,
}

impl Roster {
    /// Nobody has appeared. With a mix, the seed decides which member a client is.
    pub fn new(mix: &Mix, seed: u64) -> Roster {
        Roster {
            seats: HashMap::new(),
            of_member: vec![0; mix.members.len().max(1)],
            mix: mix.clone(),
            seed,
            most: MOST_CLIENTS,
            hasher: RandomState::new(),
        }
    }

    /// The seat of this client.
    pub fn seat(&mut self, client: IpAddr) -> Seat {
        if let Some(seat) = self.seats.get(&client) {
            return *seat;
        }
        let seen = self.seats.len();
        if seen >= self.most {
            // So many addresses are invented. One more shares the seat of another, always the same.
            let number = self.hasher.hash_one(client) % self.most as u64;
            let member = self.mix.member_of_client(self.seed, number);
            let of_member = self.of_member.get(usize::from(member)).map_or(1, |seats| *seats).max(1);
            return Seat { member, number: (number % u64::from(of_member)) as u32 };
        }
        let member = self.mix.member_of_client(self.seed, seen as u64);
        let seats = &mut self.of_member[usize::from(member)];
        let seat = Seat { member, number: *seats };
        *seats += 1;
        self.seats.insert(client, seat);
        seat
    }

    /// The number of clients.
    pub fn clients(&self) -> usize {
        self.seats.len()
    }

    /// The number of clients of each member of the mix.
    pub fn of_member(&self) -> &[u32] {
        &self.of_member
    }
}

/// Clients that are told apart: with more addresses than a million, the memory of a replay would grow with its length.
const MOST_CLIENTS: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(i: u32) -> IpAddr {
        Ipv4Addr::from(i).into()
    }

    #[test]
    fn clients_are_numbered_as_they_appear_and_stay_who_they_are() {
        let mut roster = Roster::new(&Mix::default(), 7);
        let seats: Vec<_> = [5, 9, 5, 1, 9].map(|i| roster.seat(address(i)).number).into();
        assert_eq!((seats, roster.clients(), roster.of_member()), (vec![0, 1, 0, 2, 1], 3, &[3][..]));
    }

    #[test]
    fn beyond_the_limit_clients_share_the_seats_of_others_always_the_same() {
        let mut roster = Roster { most: 10, ..Roster::new(&Mix::default(), 7) };
        (0..10).for_each(|i| {
            roster.seat(address(i));
        });
        for i in 10..1_000 {
            let seat = roster.seat(address(i));
            assert!(seat.number < 10 && seat == roster.seat(address(i)));
        }
        assert_eq!(roster.clients(), 10);
    }
}
