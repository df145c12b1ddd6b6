//! Parsing and display of what a path does.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::way::{PathDelay, Rate, Way};
use crate::faults::TextError;
use crate::faults::words::{duration, error};

impl FromStr for Rate {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Rate, TextError> {
        rate(text.trim()).ok_or_else(|| error(text, RATE_FORMS))
    }
}

fn rate(text: &str) -> Option<Rate> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(unit_at);
    let unit = unit.trim().to_ascii_lowercase();
    let factor = match unit.strip_suffix("/s").unwrap_or(&unit) {
        "bit" => 1.0,
        "kbit" => 1e3,
        "mbit" => 1e6,
        "gbit" => 1e9,
        _ => return None,
    };
    let bits = number.parse::<f64>().ok()? * factor;
    (1.0..=HIGHEST_RATE).contains(&bits).then_some(Rate { bits_per_second: bits as u64 })
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.bits_per_second;
        let units = [("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1_000)];
        match units.into_iter().find(|(_, factor)| bits >= *factor && bits.is_multiple_of(*factor)) {
            Some((unit, factor)) => write!(f, "{}{unit}", bits / factor),
            None => write!(f, "{bits}bit"),
        }
    }
}

impl FromStr for PathDelay {
    type Err = TextError;

    fn from_str(text: &str) -> Result<PathDelay, TextError> {
        match text.trim().strip_prefix("file:") {
            Some("") => Err(error(text, "a delay: name the file of latencies after file:")),
            Some(path) => Ok(PathDelay::File(PathBuf::from(path))),
            None => text.parse().map(PathDelay::Drawn),
        }
    }
}

impl fmt::Display for PathDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathDelay::Drawn(delay) => delay.fmt(f),
            PathDelay::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

impl Way {
    /// This, with what `text` says instead: words such as `delay=5ms loss=1% burst=3 duplicate=0.1% reorder=1%
    /// rate=10mbit queue=50ms order=keep`.
    ///
    /// # Errors
    /// The word that cannot be read, and how it is written.
    pub fn with(&self, text: &str) -> Result<Way, TextError> {
        let mut way = self.clone();
        for word in text.split_whitespace() {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            match key {
                "delay" => way.delay = value.parse()?,
                "loss" => way.loss = value.parse()?,
                "burst" => {
                    let burst =
                        value.parse().map_err(|_| error(word, "a number of packets, such as burst=3"))?;
                    way.loss_burst = Some(burst);
                }
                "duplicate" => way.duplicate = value.parse()?,
                "reorder" => way.reorder = value.parse()?,
                "rate" if value == "none" => way.rate = None,
                "rate" => way.rate = Some(value.parse()?),
                "queue" => {
                    way.queue =
                        duration(value).ok_or_else(|| error(word, "a duration, such as queue=50ms"))?;
                }
                "order" if matches!(value, "keep" | "free") => way.keep_order = value == "keep",
                _ => return Err(error(word, WAY_FORMS)),
            }
        }
        // Bursts are of losses: where one direction has none, those of both do not concern it.
        if way.loss.value() == 0.0 && !text.contains("burst=") {
            way.loss_burst = None;
        }
        Ok(way)
    }
}

const RATE_FORMS: &str = "a rate of bits: write 100mbit, 512kbit, 1.5gbit or 9600bit, at most 1000gbit";

const WAY_FORMS: &str = "of a direction: write delay=, loss=, burst=, duplicate=, reorder=, rate=, queue= or \
                         order=keep, with spaces between them";

/// Bits a second: far above any interface.
const HIGHEST_RATE: f64 = 1e12;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::faults::{Delay, Share};

    #[test]
    fn rates_are_read_as_written_and_shown_so_that_they_read_the_same() {
        for (text, bits) in [
            ("100mbit", 100_000_000),
            ("1.5gbit", 1_500_000_000),
            ("512 kbit/s", 512_000),
            ("9600bit", 9_600),
            ("100Mbit", 100_000_000),
        ] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!(rate.bits_per_second, bits, "{text}");
            assert_eq!(rate.to_string().parse(), Ok(rate), "{rate}");
        }
        for text in ["", "100", "mbit", "0mbit", "-1mbit", "10MB", "2000gbit", "1e9bit", "NaNbit"] {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert!(error.contains("100mbit"), "{error}");
        }
    }

    #[test]
    fn delays_are_distributions_or_files() {
        let fixed = PathDelay::Drawn(Delay::Fixed(Duration::from_millis(5)));
        for (text, delay) in [("5ms", fixed), ("file:a b.txt", PathDelay::File("a b.txt".into()))] {
            assert_eq!(text.parse::<PathDelay>().unwrap(), delay);
            assert_eq!(delay.to_string().parse::<PathDelay>().unwrap(), delay);
        }
        assert!("file:".parse::<PathDelay>().unwrap_err().to_string().contains("name the file"));
        assert!("5".parse::<PathDelay>().unwrap_err().to_string().contains("uniform:"));
    }

    #[test]
    fn one_direction_can_differ_from_both() {
        let both = Way {
            delay: "5ms".parse().unwrap(),
            loss: "1%".parse().unwrap(),
            loss_burst: Some(3.0),
            ..Way::default()
        };
        let way = both.with("delay=normal:5ms,1ms rate=10mbit queue=50ms order=keep").unwrap();
        assert_eq!(
            way.to_string(),
            "delay normal:5ms,1ms, in order, loss 1% in bursts of 3, 10mbit with a queue of 50ms"
        );
        assert_eq!((way.loss, way.queue), (Share::new(0.01).unwrap(), Duration::from_millis(50)));
        let way = both.with("loss=0 duplicate=2% reorder=3%").unwrap();
        assert_eq!(way.to_string(), "delay 5ms, 2% twice, 3% not delayed");
        assert!(way.validate().is_ok());
        assert_eq!(both.with("").unwrap(), both);
        for (text, word) in [
            ("delay", "'' is not a delay"),
            ("lag=5ms", "'lag=5ms' is not of a direction"),
            ("loss=200%", "'200%'"),
            ("burst=x", "burst=3"),
            ("queue=5", "queue=50ms"),
            ("order=maybe", "order=keep"),
        ] {
            let error = both.with(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
