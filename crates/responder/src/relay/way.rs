//! What a path does in each of its two directions: the options, and whether they are possible.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use dnsdyno_text::encoding::decoded;
use dnsdyno_text::shown;
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

use crate::faults::words::duration;
use crate::faults::{Delay, Sampler, Share};
use crate::relay::error::RelayError;

/// A path between a client and a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// What it does to queries.
    pub to_server: Way,
    /// What it does to responses.
    pub to_client: Way,
    /// The random seed: the same seed and the same order of packets give the same delays and losses.
    pub seed: u64,
}

/// What the path does in one direction. The default passes everything on at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// How long each packet is on the way.
    pub delay: PathDelay,
    /// No packet overtakes another one, even if its delay is shorter.
    pub keep_order: bool,
    /// Datagrams that are lost.
    pub loss: Share,
    /// How many datagrams are lost in a row, on average; `None`: each loss is independent of the others.
    pub loss_burst: Option<f64>,
    /// Datagrams that arrive twice.
    pub duplicate: Share,
    /// Datagrams that are not delayed, and so overtake others.
    pub reorder: Share,
    /// How much passes in a second; `None`: any amount.
    pub rate: Option<Rate>,
    /// How long a packet waits for the rate at most; one that would wait longer is dropped.
    pub queue: Duration,
}

/// The delay of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathDelay {
    /// Drawn from a distribution.
    Drawn(Delay),
    /// Drawn from the latencies in a file: one a line, such as `12.5ms`; `#` begins a comment. Each is equally likely.
    /// Text: `file:NAME`.
    File(PathBuf),
}

/// Bits a second, counted with the headers of IP and UDP or TCP. Text: `100mbit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Above 0.
    pub bits_per_second: u64,
}

impl Default for Way {
    fn default() -> Self {
        Way {
            delay: PathDelay::default(),
            keep_order: false,
            loss: Share::default(),
            loss_burst: None,
            duplicate: Share::default(),
            reorder: Share::default(),
            rate: None,
            queue: USUAL_QUEUE,
        }
    }
}

impl Default for PathDelay {
    fn default() -> Self {
        PathDelay::Drawn(Delay::Fixed(Duration::ZERO))
    }
}

impl Way {
    /// Checks what the types do not guarantee; reads no file.
    ///
    /// # Errors
    /// Which option is impossible, and why.
    pub fn validate(&self) -> Result<(), RelayError> {
        let impossible = |reason: &str| Err(RelayError::Way { reason: reason.to_string() });
        if let PathDelay::Drawn(delay) = &self.delay {
            delay.sampler().map_err(|error| RelayError::Way { reason: error.to_string() })?;
        }
        if let Some(burst) = self.loss_burst {
            let loss = self.loss.value();
            if !(1.0..=LONGEST_BURST).contains(&burst) {
                return impossible("a burst of losses is 1 to 10,000 packets long on average");
            }
            if loss == 0.0 {
                return impossible("bursts of losses need a share of losses: add --loss, such as --loss 1%");
            }
            if loss < 1.0 && loss / (burst * (1.0 - loss)) > 1.0 {
                return impossible("bursts this short cannot lose so much: make them longer, or lose less");
            }
        }
        let is_delayed = !matches!(self.delay, PathDelay::Drawn(Delay::Fixed(Duration::ZERO)));
        if self.reorder.value() > 0.0 && !is_delayed {
            return impossible("without a delay no packet can overtake another one: add --delay");
        }
        if self.reorder.value() > 0.0 && self.keep_order {
            return impossible(
                "the order cannot both be kept and changed: give one of --reorder and --keep-order",
            );
        }
        if self.queue > LONGEST_QUEUE {
            return impossible("a queue of more than a minute");
        }
        Ok(())
    }

    /// Whether it does to datagrams what it cannot do to a byte stream.
    pub fn spares_streams(&self) -> bool {
        self.loss.value() > 0.0 || self.duplicate.value() > 0.0 || self.reorder.value() > 0.0
    }
}

/// A [`PathDelay`] to draw from.
#[derive(Clone, Debug)]
pub(crate) enum DelaySource {
    Drawn(Sampler, u64),
    /// Ascending.
    Measured(Box<[u64]>),
}

impl PathDelay {
    /// Reads the file, where there is one.
    pub(crate) fn open(&self) -> Result<DelaySource, RelayError> {
        match self {
            PathDelay::Drawn(delay) => {
                let sampler = delay.sampler();
                let sampler = sampler.map_err(|error| RelayError::Way { reason: error.to_string() })?;
                Ok(DelaySource::Drawn(sampler, delay.middle_ns()))
            }
            PathDelay::File(path) => latencies(path).map(DelaySource::Measured),
        }
    }
}

impl DelaySource {
    /// The next delay, in nanoseconds.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        match self {
            DelaySource::Drawn(sampler, _) => sampler.draw(rng),
            DelaySource::Measured(all) => {
                let at = rng.random_range(0..all.len().max(1));
                all.get(at).copied().unwrap_or(0)
            }
        }
    }

    /// Its mean or its median, in nanoseconds.
    pub(crate) fn middle_ns(&self) -> u64 {
        match self {
            DelaySource::Drawn(_, middle_ns) => *middle_ns,
            DelaySource::Measured(all) => all.get(all.len() / 2).copied().unwrap_or(0),
        }
    }
}

/// The latencies in a file, ascending.
fn latencies(path: &FilePath) -> Result<Box<[u64]>, RelayError> {
    let wrong = |reason: String| RelayError::Latencies { path: path.to_path_buf(), reason };
    let mut octets = Vec::new();
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    let read = file.take(LONGEST_FILE + 1).read_to_end(&mut octets);
    if read.map_err(|error| wrong(error.to_string()))? as u64 > LONGEST_FILE {
        return Err(wrong("it is longer than 64 MiB".to_string()));
    }
    let text = decoded(octets).map_err(|error| wrong(error.to_string()))?;
    let mut all = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let value = line.split('#').next().unwrap_or_default().trim();
        if value.is_empty() {
            continue;
        }
        let delay = duration(value).filter(|delay| *delay <= crate::faults::LONGEST_DELAY);
        let Some(delay) = delay else {
            let (line, value) = (number + 1, shown(value, 40));
            return Err(wrong(format!(
                "line {line}: '{value}' is not a latency such as 12.5ms, at most an hour"
            )));
        };
        all.push(delay.as_nanos() as u64);
    }
    if all.is_empty() {
        return Err(wrong("it has no latency; write one a line, such as 12.5ms".to_string()));
    }
    all.sort_unstable();
    Ok(all.into())
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = vec![format!("delay {}", self.delay)];
        if self.keep_order {
            parts.push("in order".to_string());
        }
        match self.loss_burst {
            _ if self.loss.value() == 0.0 => {}
            Some(burst) => parts.push(format!("loss {} in bursts of {burst}", self.loss)),
            None => parts.push(format!("loss {}", self.loss)),
        }
        for (share, what) in [(self.duplicate, "twice"), (self.reorder, "not delayed")] {
            if share.value() > 0.0 {
                parts.push(format!("{share} {what}"));
            }
        }
        if let Some(rate) = self.rate {
            parts.push(format!("{rate} with a queue of {:?}", self.queue));
        }
        f.write_str(&parts.join(", "))
    }
}

/// The queue of a rate limit: what routers have for links of some tens of milliseconds.
const USUAL_QUEUE: Duration = Duration::from_millis(100);

/// A longer queue is a typing error.
const LONGEST_QUEUE: Duration = Duration::from_secs(60);

/// Packets that a burst of losses has on average, at most.
const LONGEST_BURST: f64 = 10_000.0;

/// Octets of a file of latencies, at most.
const LONGEST_FILE: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn reason(way: Way) -> String {
        way.validate().unwrap_err().to_string()
    }

    #[test]
    fn what_is_impossible_is_refused_with_its_reason() {
        let share = |value| Share::new(value).unwrap();
        let ms = |ms| PathDelay::Drawn(Delay::Fixed(Duration::from_millis(ms)));
        assert!(Way::default().validate().is_ok());
        assert!(reason(Way { reorder: share(0.1), ..Way::default() }).contains("add --delay"));
        let way = Way { reorder: share(0.1), delay: ms(5), keep_order: true, ..Way::default() };
        assert!(reason(way).contains("one of --reorder and --keep-order"));
        assert!(reason(Way { loss_burst: Some(3.0), ..Way::default() }).contains("add --loss"));
        let way = |loss, burst| Way { loss: share(loss), loss_burst: Some(burst), ..Way::default() };
        assert!(reason(way(0.1, 0.5)).contains("1 to 10,000"));
        assert!(reason(way(0.9, 2.0)).contains("make them longer"));
        assert!(way(1.0, 1.0).validate().is_ok() && way(0.5, 2.0).validate().is_ok());
        assert!(reason(Way { delay: ms(4_000_000), ..Way::default() }).contains("longer than an hour"));
    }

    #[test]
    fn latencies_are_drawn_from_a_file_and_a_bad_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let open = |text: &str| {
            let path = folder.path().join("latencies");
            std::fs::write(&path, text).unwrap();
            PathDelay::File(path).open()
        };
        let source = open("# measured on Monday\n3ms\n 1ms # the fastest\n\n500us\n").unwrap();
        assert_eq!(source.middle_ns(), 1_000_000);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let drawn: Vec<u64> = (0..3_000).map(|_| source.draw(&mut rng)).collect();
        for latency in [500_000, 1_000_000, 3_000_000] {
            let count = drawn.iter().filter(|drawn| **drawn == latency).count();
            assert!((850..1_150).contains(&count), "{latency}: {count}");
        }
        assert!(drawn.iter().all(|drawn| [500_000, 1_000_000, 3_000_000].contains(drawn)));
        let error = |text: &str| open(text).unwrap_err().to_string();
        assert!(error("1ms\n12\n").contains("line 2: '12' is not a latency"), "{}", error("1ms\n12\n"));
        assert!(error("\u{1b}[2J\n").contains("line 1: '\\u{1b}[2J' is"), "{}", error("\u{1b}[2J\n"));
        assert!(error("# nothing\n").contains("has no latency"));
        let missing = PathDelay::File(folder.path().join("none")).open().unwrap_err().to_string();
        assert!(missing.contains("none") && missing.contains("No such file"), "{missing}");
    }
}
