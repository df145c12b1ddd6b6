//! Draws what is done to each query and each connection of a socket.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use dnsdyno_wire::HEADER_LEN;

use super::delay::{Delay, Sampler};
use super::falsify::{change_answer, change_question, flip_id};
use super::{ConnectionFault, Decision, Fault, Faults, FaultsError, Share};

/// Draws the decisions for the queries of one socket, one by one.
#[derive(Clone, Debug)]
pub struct Decider {
    rng: Xoshiro256PlusPlus,
    /// The upper end of each fault between 0 and 1; those with no share are left out.
    faults: Vec<(f64, Fault)>,
    /// Queries that still get the right answer.
    right_answers: u64,
    delay: Option<Sampler>,
    work: Option<Sampler>,
    /// Separate, so that connections do not change what their queries draw.
    connection_rng: Xoshiro256PlusPlus,
    connection_faults: Vec<(f64, ConnectionFault)>,
}

impl Faults {
    /// The decider of one socket; `stream` distinguishes the sockets of one responder.
    pub fn decider(&self, stream: u64) -> Result<Decider, FaultsError> {
        self.validate()?;
        let seed = self.seed.wrapping_add(stream.wrapping_mul(STREAM_STEP));
        Ok(Decider {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            faults: cumulative(self.shares()),
            right_answers: self.wrong_answer_after,
            delay: self.delay.as_ref().map(Delay::sampler).transpose()?,
            work: self.limit.as_ref().map(|limit| limit.work.sampler()).transpose()?,
            connection_rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ CONNECTION_STEP),
            connection_faults: cumulative(self.connection_shares()),
        })
    }
}

/// The upper ends of the shares, which follow one another; shares of 0 are left out.
fn cumulative<T, const N: usize>(shares: [(Share, T); N]) -> Vec<(f64, T)> {
    let mut end = 0.0;
    let shares = shares.into_iter().filter(|(share, _)| share.0 > 0.0);
    shares
        .map(|(share, fault)| {
            end += share.0;
            (end, fault)
        })
        .collect()
}

impl Decider {
    /// Decides for the next connection.
    pub fn decide_connection(&mut self) -> Option<ConnectionFault> {
        if self.connection_faults.is_empty() {
            return None;
        }
        let drawn: f64 = self.connection_rng.random();
        self.connection_faults.iter().find(|(end, _)| drawn < *end).map(|(_, fault)| *fault)
    }

    /// Decides for the next query.
    #[inline]
    pub fn decide(&mut self) -> Decision {
        let fault = if self.faults.is_empty() {
            None
        } else {
            let drawn: f64 = self.rng.random();
            let fault = self.faults.iter().find(|(end, _)| drawn < *end).map(|(_, fault)| *fault);
            fault.filter(|fault| *fault != Fault::WrongAnswer || self.right_answers == 0)
        };
        self.right_answers = self.right_answers.saturating_sub(1);
        let delay_ns = self.delay.as_ref().map_or(0, |delay| delay.draw(&mut self.rng));
        let work_ns = self.work.as_ref().map_or(0, |work| work.draw(&mut self.rng));
        Decision { fault, delay_ns, work_ns }
    }

    /// Changes a response, which starts at `start`, as the fault demands; false where the fault
    /// changes no bytes (as a reset) or there is no question to change.
    pub fn corrupt(&mut self, fault: Fault, answer: &mut Vec<u8>, start: usize) -> bool {
        match fault {
            Fault::WrongId => flip_id(&mut answer[start..]),
            Fault::WrongQuestion => change_question(&mut answer[start..]),
            Fault::WrongAnswer => change_answer(&mut answer[start..]),
            Fault::Garbage => {
                answer.truncate(start);
                let length = self.rng.random_range(1..HEADER_LEN);
                answer.extend((0..length).map(|_| self.rng.random::<u8>()));
                true
            }
            _ => false,
        }
    }
}

/// Distance of the seeds of two sockets: odd and without pattern, so that consecutive seeds of a user (1,
/// 2, 3) do not give the same ones.
const STREAM_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Separates the random stream of connections from that of queries.
const CONNECTION_STEP: u64 = 0xD1B5_4A32_D192_ED03;
