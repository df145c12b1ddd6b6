//! How far name servers are: round-trip times drawn by region.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use dnsdyno_text::notation::{format_duration_ns, parse_duration_ns, parse_percent};

use crate::draw::{Draw, Purpose};

/// Regions of name servers; none where nothing is far.
///
/// The defaults: anycast services have a median of 25 to 32 ms over all the world's clients (four root servers:
/// Schmidt, Heidemann and Kuipers, "Anycast Latency: How Many Sites Are Enough?", PAM 2017). Of the others, medians are
/// what Verizon guarantees as monthly averages between its hubs: 30 ms in Europe, 90 ms over the Atlantic, 160 ms over
/// the Pacific, 260 ms from Singapore to the United States. The shares and the spread in a region are ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Regions(Vec<Region>);

/// A region: where servers are at about the same distance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Region {
    pub(crate) name: String,
    /// Of the name servers of hosters and zones; those of the root and of top-level domains are in the first region.
    share: f64,
    median: Duration,
    /// Of the logarithm of the round-trip time; 0.5 puts nine of ten servers between 0.44 and 2.3 medians.
    sigma: f64,
}

impl Regions {
    /// The region of a server, and its round-trip time. `first` for a server that is in the first region in any case.
    pub(crate) fn draw(&self, draw: Draw, first: bool) -> Option<(&Region, Duration)> {
        let weights: Vec<_> = self.0.iter().enumerate().map(|(at, region)| (region.share, at)).collect();
        let at = if first { Some(0) } else { draw.at(Purpose::Region).pick(&weights) };
        let region = self.0.get(at?)?;
        let normal = draw.at(Purpose::Distance).normal(draw.at(Purpose::Distance2));
        let rtt = region.median.mul_f64((region.sigma * normal).exp());
        Some((region, rtt.clamp(SHORTEST.min(region.median), LONGEST)))
    }
}

impl Default for Regions {
    fn default() -> Self {
        let region = |name: &str, share, median_ms, sigma| Region {
            name: name.to_owned(),
            share,
            median: Duration::from_millis(median_ms),
            sigma,
        };
        Regions(vec![
            region("anycast", 0.35, 28, 0.6),
            region("continent", 0.25, 30, 0.5),
            region("atlantic", 0.25, 90, 0.25),
            region("pacific", 0.1, 160, 0.2),
            region("far", 0.05, 260, 0.2),
        ])
    }
}

impl FromStr for Regions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == NONE {
            return Ok(Regions(Vec::new()));
        }
        let regions = text.split(',').map(|part| {
            let form = || {
                format!(
                    "`{part}` is not a region: write NAME=SHARE:MEDIAN:SIGMA, such as near=60%:12ms:0.5, or `{NONE}`"
                )
            };
            let (name, figures) = part.trim().split_once('=').ok_or_else(form)?;
            let [share, median, sigma] = *figures.split(':').collect::<Vec<_>>() else { return Err(form()) };
            let sigma = sigma.parse::<f64>().ok().filter(|sigma| (0.0..=3.0).contains(sigma)).ok_or_else(form)?;
            let median = parse_duration_ns(median).map(Duration::from_nanos).map_err(|_| form())?;
            let share = parse_percent(share).map_err(|_| form())?;
            if median > LONGEST || median.is_zero() || name.is_empty() {
                return Err(form());
            }
            Ok(Region { name: name.to_owned(), share, median, sigma })
        });
        let regions = Regions(regions.collect::<Result<_, _>>()?);
        let sum: f64 = regions.0.iter().map(|region| region.share).sum();
        if (sum - 1.0).abs() > 1e-6 {
            return Err(format!("the shares of the regions add up to {}%, and not to 100%", sum * 100.0));
        }
        Ok(regions)
    }
}

impl fmt::Display for Regions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(NONE);
        }
        for (number, Region { name, share, median, sigma }) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let percent = (share * 1e11).round() / 1e9;
            let median = format_duration_ns(median.as_nanos() as u64);
            write!(f, "{comma}{name}={percent}%:{median}:{sigma}")?;
        }
        Ok(())
    }
}

/// The word for no distance at all.
const NONE: &str = "none";

/// No server that is reached over a network is nearer, unless its region is.
const SHORTEST: Duration = Duration::from_micros(500);

/// No server is farther: a path over two satellites is not.
const LONGEST: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_shares_are_those_that_were_asked_for() {
        let regions: Regions = "near=75%:10ms:0.5,far=25%:200ms:0.2".parse().unwrap();
        let drawn: Vec<_> = (0..10_000).filter_map(|n| regions.draw(Draw::new(1).nth(n), false)).collect();
        let mut near: Vec<_> =
            drawn.iter().filter(|(region, _)| region.name == "near").map(|row| row.1).collect();
        assert!((7_300..7_700).contains(&near.len()), "{}", near.len());
        near.sort_unstable();
        let at = |share: f64| near[(near.len() as f64 * share) as usize].as_secs_f64() * 1e3;
        assert!(
            (at(0.5) - 10.0).abs() < 0.4 && (at(0.95) / at(0.5) - 2.28).abs() < 0.15,
            "{} {}",
            at(0.5),
            at(0.95)
        );
        let first = regions.draw(Draw::new(1).nth(3), true).unwrap();
        assert_eq!(first.0.name, "near");
    }

    #[test]
    fn what_is_shown_reads_back_and_errors_show_the_form() {
        for text in ["none", "near=75%:10ms:0.5,far=25%:200ms:0.2"] {
            assert_eq!(text.parse::<Regions>().unwrap().to_string(), text);
        }
        let default = Regions::default();
        assert_eq!(default.to_string().parse::<Regions>().unwrap(), default);
        assert!("none".parse::<Regions>().unwrap().draw(Draw::new(1), true).is_none());
        for text in ["near", "near=1:2", "near=100%:0s:1", "near=100%:3s:1", "=100%:1ms:1", "near=100%:1ms:9"]
        {
            assert!(text.parse::<Regions>().unwrap_err().contains("NAME=SHARE"), "{text}");
        }
        assert!("near=60%:12ms:0.5".parse::<Regions>().unwrap_err().contains("add up to 60%"));
    }
}
