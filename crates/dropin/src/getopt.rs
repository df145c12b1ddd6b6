//! Splits a command line into options as getopt(3) of the C library does: short options that may be written together,
//! values attached or in the next word, words without a dash anywhere, `--` as the end of the options.

/// The options of a command line, one after the other.
pub(crate) struct Getopt<'a> {
    words: &'a [String],
    /// Whether an option has a value; `None` = there is no such option.
    has_value: &'a dyn Fn(char) -> Option<bool>,
    /// The next word.
    at: usize,
    /// What is left of a word of options.
    cluster: &'a str,
    /// The words that are not options.
    operands: Vec<&'a str>,
}

/// One option, or a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// An option without a value.
    Flag(char),
    /// An option and its value.
    Value(char, &'a str),
    /// An option that does not exist.
    Unknown(char),
    /// An option without its value, at the end of the command line.
    NoValue(char),
}

impl<'a> Getopt<'a> {
    /// `words` are those after the name of the program.
    pub(crate) fn new(words: &'a [String], has_value: &'a dyn Fn(char) -> Option<bool>) -> Self {
        Getopt { words, has_value, at: 0, cluster: "", operands: Vec::new() }
    }

    /// The words that are not options, once all options were read.
    pub(crate) fn operands(self) -> Vec<&'a str> {
        self.operands
    }

    fn next_word(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some(word)
    }
}

impl<'a> Iterator for Getopt<'a> {
    type Item = Found<'a>;

    fn next(&mut self) -> Option<Found<'a>> {
        while self.cluster.is_empty() {
            match self.next_word()? {
                "--" => {
                    self.operands.extend(self.words[self.at..].iter().map(String::as_str));
                    self.at = self.words.len();
                }
                word if word.len() > 1 && word.starts_with('-') => self.cluster = &word[1..],
                word => self.operands.push(word),
            }
        }
        let mut letters = self.cluster.chars();
        let letter = letters.next()?;
        self.cluster = letters.as_str();
        Some(match (self.has_value)(letter) {
            None => Found::Unknown(letter),
            Some(false) => Found::Flag(letter),
            Some(true) => match std::mem::take(&mut self.cluster) {
                "" => self.next_word().map_or(Found::NoValue(letter), |value| Found::Value(letter, value)),
                attached => Found::Value(letter, attached),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let has_value = |letter| match letter {
            's' | 'd' => Some(true),
            'e' | 'v' => Some(false),
            _ => None,
        };
        let mut getopt = Getopt::new(&words, &has_value);
        let mut text = String::new();
        for found in getopt.by_ref() {
            text += &match found {
                Found::Flag(letter) => format!("{letter} "),
                Found::Value(letter, value) => format!("{letter}={value} "),
                Found::Unknown(letter) => format!("{letter}? "),
                Found::NoValue(letter) => format!("{letter}! "),
            };
        }
        text + &getopt.operands().join(",")
    }

    #[test]
    fn options_are_written_together_or_apart_with_their_values_attached_or_not() {
        assert_eq!(read("-s 1 -d2 -ev -es3"), "s=1 d=2 e v e s=3 ");
        assert_eq!(read("-s -e -s -- -s"), "s=-e s=-- s! ");
        assert_eq!(read("a -e b - -- -v c"), "e a,b,-,-v,c");
        assert_eq!(read("--foo -z"), "-? f? o? o? z? ");
        assert_eq!(read("-e=1"), "e =? 1? ");
    }
}
