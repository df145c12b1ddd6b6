//! XML of others, read whole into a tree, with bounds: how deep it is, and how many elements it has. A document type
//! is refused, and so is every entity but the five of XML itself, so that nothing in it can grow.

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// An element with what is in it.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    attributes: Vec<(String, String)>,
    /// Its own text, without that of its children.
    text: String,
    pub(super) children: Vec<Element>,
}

impl Element {
    /// Reads a document. The elements named in `left_out` are passed over, with all that is in them.
    ///
    /// # Errors
    /// It is no XML, or beyond the bounds; the reason may have text of the document in it.
    pub(super) fn parse(text: &str, left_out: &[&str]) -> Result<Element, String> {
        let mut reader = Reader::from_str(text);
        let mut tree = Tree::default();
        loop {
            let event = reader.read_event().map_err(|error| error.to_string())?;
            match event {
                Event::Start(start) if left_out.contains(&start.name().0) => {
                    reader.read_to_end(start.name()).map_err(|error| error.to_string())?;
                }
                Event::Start(start) => tree.open(&start)?,
                Event::Empty(start) => {
                    tree.open(&start)?;
                    tree.close();
                }
                Event::End(_) => tree.close(),
                Event::Text(text) => tree.push_text(&text),
                Event::CData(text) => tree.push_text(&text),
                Event::GeneralRef(reference) => tree.push_reference(&reference)?,
                Event::DocType(_) => return Err("it has a document type".to_owned()),
                Event::Eof => return Err("it ends before its first element does".to_owned()),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            }
            if let Some(root) = tree.root.take() {
                return Ok(root);
            }
        }
    }

    /// The text of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(its, _)| its == name).map(|(_, value)| value.as_str())
    }

    /// The children of this name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The first child of this name.
    pub(super) fn first(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Its own text, without blanks around it.
    pub(super) fn text(&self) -> &str {
        self.text.trim()
    }
}

/// A document that is being read.
#[derive(Default)]
struct Tree {
    /// The elements that have not ended yet, the outermost one first.
    open: Vec<Element>,
    /// The outermost one, when it has ended.
    root: Option<Element>,
    elements: usize,
}

impl Tree {
    fn open(&mut self, start: &BytesStart<'_>) -> Result<(), String> {
        self.elements += 1;
        if self.open.len() >= DEEPEST || self.elements > MOST_ELEMENTS {
            return Err(format!("it has more than {MOST_ELEMENTS} elements, or {DEEPEST} within each other"));
        }
        let mut attributes = Vec::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| error.to_string())?;
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            let value = value.map_err(|error| error.to_string())?.into_owned();
            attributes.push((attribute.key.0.to_owned(), value));
            if attributes.len() > MOST_ATTRIBUTES {
                return Err(format!("an element has more than {MOST_ATTRIBUTES} attributes"));
            }
        }
        self.open.push(Element { name: start.name().0.to_owned(), attributes, ..Element::default() });
        Ok(())
    }

    fn close(&mut self) {
        let Some(ended) = self.open.pop() else { return };
        match self.open.last_mut() {
            Some(parent) => parent.children.push(ended),
            None => self.root = Some(ended),
        }
    }

    fn push_text(&mut self, text: &str) {
        if let Some(element) = self.open.last_mut() {
            element.text.push_str(text);
        }
    }

    fn push_reference(&mut self, reference: &BytesRef<'_>) -> Result<(), String> {
        let character = reference.resolve_char_ref().map_err(|error| error.to_string())?;
        match (character, resolve_predefined_entity(reference)) {
            (Some(character), _) => self.push_text(character.encode_utf8(&mut [0; 4])),
            (None, Some(text)) => self.push_text(text),
            (None, None) => return Err("it has an entity that XML does not define".to_owned()),
        }
        Ok(())
    }
}

/// Elements within each other. The statistics of BIND have eight.
const DEEPEST: usize = 32;

/// A view of BIND has some two hundred.
const MOST_ELEMENTS: usize = 1 << 18;

const MOST_ATTRIBUTES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_a_tree_without_what_is_left_out() {
        let text = "<?xml version=\"1.0\"?>\n<?xml-stylesheet href='x'?><!-- <b> --><a v=\"1 &amp; 2\">\n <b> x&lt;y \
                    </b><c/><zones><zones><b>no</b></zones></zones><b><![CDATA[<q>]]>&#65;</b></a> and more";
        let root = Element::parse(text, &["zones"]).unwrap();
        assert_eq!(
            (root.name.as_str(), root.attribute("v"), root.attribute("w")),
            ("a", Some("1 & 2"), None)
        );
        let texts: Vec<&str> = root.all("b").map(Element::text).collect();
        assert_eq!(texts, ["x<y", "<q>A"]);
        let names: Vec<&str> = root.children.iter().map(|child| child.name.as_str()).collect();
        assert_eq!((names, root.first("c").map(Element::text)), (vec!["b", "c", "b"], Some("")));
    }

    #[test]
    fn what_is_hostile_or_no_xml_is_refused() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>";
        let file = "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>";
        let deep = "<a>".repeat(DEEPEST + 1);
        let many = format!("<a>{}</a>", "<b/>".repeat(MOST_ELEMENTS));
        let attributes: String = (0..=MOST_ATTRIBUTES).map(|n| format!(" b{n}=''")).collect();
        let attributes = format!("<a{attributes}/>");
        for (text, reason) in [
            (bomb, "document type"),
            (file, "document type"),
            ("<a>&b;</a>", "entity"),
            (&deep, "within each other"),
            (&many, "more than 262144 elements"),
            (&attributes, "more than 16 attributes"),
            ("", "ends before"),
            ("{\"a\": 1}", "ends before"),
            ("<a><b></a>", ""),
            ("<a", ""),
            ("<a b=1/>", ""),
            ("<zones>", ""),
        ] {
            let error = Element::parse(text, &["zones"]).unwrap_err();
            assert!(error.contains(reason), "{reason}: {error}");
        }
    }
}
