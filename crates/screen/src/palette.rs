//! The colours of the screen: those of the report page (Okabe and Ito's, and viridis), in as many as the terminal has.
//!
//! What a colour says, a word or a sign says too: without colours everything is still there.

use ratatui_core::style::{Color, Modifier, Style};

/// What a part of the picture means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Answered queries, and the median.
    Answered,
    /// The p99.
    High,
    /// The p99.9.
    Highest,
    /// Queries without a response; a generator in doubt.
    Bad,
    /// Refused queries.
    Refused,
    /// A generator that is not in doubt.
    Good,
}

/// How many colours the terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    None,
    Sixteen,
    Indexed,
    Full,
}

/// The colours of a terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    depth: Depth,
}

impl Palette {
    pub(crate) fn new(depth: Depth) -> Palette {
        Palette { depth }
    }

    /// The colours that the terminal says it has.
    pub(crate) fn of_environment() -> Palette {
        let text = |name| std::env::var(name).unwrap_or_default();
        Palette::new(depth_of(&text("TERM"), &text("COLORTERM")))
    }

    /// The style of a tone.
    pub(crate) fn style(&self, tone: Tone) -> Style {
        let (rgb, named) = match tone {
            Tone::Answered => ((0x56, 0xb4, 0xe9), Color::Cyan),
            Tone::High | Tone::Bad => ((0xd5, 0x5e, 0x00), Color::Red),
            Tone::Highest => ((0xcc, 0x79, 0xa7), Color::Magenta),
            Tone::Refused => ((0xe6, 0x9f, 0x00), Color::Yellow),
            Tone::Good => ((0x00, 0x9e, 0x73), Color::Green),
        };
        match self.depth {
            Depth::None => Style::new(),
            Depth::Sixteen => Style::new().fg(named),
            Depth::Indexed => Style::new().fg(Color::Indexed(index_of(rgb))),
            Depth::Full => Style::new().fg(Color::Rgb(rgb.0, rgb.1, rgb.2)),
        }
    }

    /// What is read second: labels, scales, what was asked.
    pub(crate) fn quiet(&self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// What is read first.
    pub(crate) fn figure(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The colour of a share (0 to 1) in a heat map; `None` where the terminal has too few colours for one.
    pub(crate) fn heat(&self, share: f64) -> Option<Color> {
        let place = share.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
        let (below, part) = (place as usize, place.fract());
        let (from, to) = (VIRIDIS[below], VIRIDIS[(below + 1).min(VIRIDIS.len() - 1)]);
        let between = |from: u8, to: u8| (f64::from(from) + (f64::from(to) - f64::from(from)) * part) as u8;
        let rgb = (between(from.0, to.0), between(from.1, to.1), between(from.2, to.2));
        match self.depth {
            Depth::None | Depth::Sixteen => None,
            Depth::Indexed => Some(Color::Indexed(index_of(rgb))),
            Depth::Full => Some(Color::Rgb(rgb.0, rgb.1, rgb.2)),
        }
    }
}

fn depth_of(term: &str, colorterm: &str) -> Depth {
    if matches!(colorterm, "truecolor" | "24bit") || term.ends_with("-direct") {
        Depth::Full
    } else if term.contains("256color") {
        Depth::Indexed
    } else if MONOCHROME.iter().any(|name| term.starts_with(name)) || term.ends_with("-m") {
        Depth::None
    } else {
        Depth::Sixteen
    }
}

/// The nearest colour of the cube of 6 × 6 × 6 in the table of 256.
fn index_of((red, green, blue): (u8, u8, u8)) -> u8 {
    let nearest = |value: u8| {
        let distance = |level: &u8| CUBE[usize::from(*level)].abs_diff(value);
        (0..CUBE.len() as u8).min_by_key(distance).unwrap_or(0)
    };
    16 + 36 * nearest(red) + 6 * nearest(green) + nearest(blue)
}

/// The levels of the cube.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// Terminals without colours.
const MONOCHROME: [&str; 5] = ["vt100", "vt102", "vt220", "vt320", "xterm-mono"];

/// Viridis without its darkest fifth, which is not seen on a black terminal.
const VIRIDIS: [(u8, u8, u8); 9] = [
    (0x41, 0x44, 0x87),
    (0x35, 0x5f, 0x8d),
    (0x2a, 0x78, 0x8e),
    (0x21, 0x91, 0x8c),
    (0x22, 0xa8, 0x84),
    (0x44, 0xbf, 0x70),
    (0x7a, 0xd1, 0x51),
    (0xbd, 0xdf, 0x26),
    (0xfd, 0xe7, 0x25),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_has_the_colours_that_it_names() {
        assert_eq!(depth_of("xterm", "truecolor"), Depth::Full);
        assert_eq!(depth_of("screen-256color", ""), Depth::Indexed);
        assert_eq!(depth_of("linux", ""), Depth::Sixteen);
        assert_eq!(depth_of("vt100", ""), Depth::None);
    }

    #[test]
    fn a_colour_has_a_near_one_in_the_table() {
        assert_eq!([(0, 0, 0), (255, 255, 255), (0x56, 0xb4, 0xe9)].map(index_of), [16, 231, 74]);
    }

    #[test]
    fn heat_becomes_lighter_with_the_share() {
        let full = Palette::new(Depth::Full);
        assert_eq!(full.heat(0.0), Some(Color::Rgb(0x41, 0x44, 0x87)));
        assert_eq!(full.heat(1.0), Some(Color::Rgb(0xfd, 0xe7, 0x25)));
        assert_eq!((full.heat(f64::NAN).is_some(), Palette::new(Depth::Sixteen).heat(0.5)), (true, None));
    }
}
