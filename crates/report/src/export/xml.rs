//! Elements of XML: what JUnit reports are made of.

use std::fmt::{self, Display, Formatter};

/// An element with its attributes, and either elements or text in it.
#[derive(Debug)]
pub struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    None,
    Text(String),
    Elements(Vec<Element>),
}

impl Element {
    /// An element without content.
    pub fn new(name: &'static str) -> Element {
        Element { name, attributes: Vec::new(), content: Content::None }
    }

    /// The same with an attribute more.
    pub fn with(mut self, name: &'static str, value: impl Display) -> Element {
        self.attributes.push((name, value.to_string()));
        self
    }

    /// The same with this text in it, which may be empty.
    pub fn text(mut self, text: impl Into<String>) -> Element {
        self.content = Content::Text(text.into());
        self
    }

    /// The same with these elements in it.
    pub fn elements(mut self, elements: Vec<Element>) -> Element {
        self.content = Content::Elements(elements);
        self
    }

    fn write(&self, f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
        let indent = depth * INDENT;
        write!(f, "{:indent$}<{}", "", self.name)?;
        for (name, value) in &self.attributes {
            write!(f, " {name}=\"{}\"", Escaped(value))?;
        }
        match &self.content {
            Content::None => f.write_str("/>\n"),
            Content::Text(text) => writeln!(f, ">{}</{}>", Escaped(text), self.name),
            Content::Elements(elements) => {
                f.write_str(">\n")?;
                elements.iter().try_for_each(|element| element.write(f, depth + 1))?;
                writeln!(f, "{:indent$}</{}>", "", self.name)
            }
        }
    }
}

/// As a document.
impl Display for Element {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")?;
        self.write(f, 0)
    }
}

/// Text of an element or attribute, without the characters that XML 1.0 cannot hold.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&apos;")?,
                '\t' | '\n' | '\r' => write!(f, "{character}")?,
                '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => {}
                _ => write!(f, "{character}")?,
            }
        }
        Ok(())
    }
}

const INDENT: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_indented_and_what_xml_reserves_is_escaped() {
        let inner = vec![
            Element::new("empty").with("of", "a \"<b>\""),
            Element::new("text").text("'1' & 2\n\u{1}\u{fffe}3"),
        ];
        let document = Element::new("all").with("count", 2).elements(inner).to_string();
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<all count=\"2\">\n    \
                        <empty of=\"a &quot;&lt;b&gt;&quot;\"/>\n    <text>&apos;1&apos; &amp; 2\n3</text>\n</all>\n";
        assert_eq!(document, expected);
    }
}
