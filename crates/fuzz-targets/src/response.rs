//! The peek at a response.

use dnsdyno_wire::{
    FLAG_QR, FLAG_TC, HEADER_LEN, encode_name, name_to_text, peek, peek_id, rcode_name, same_question,
    type_name,
};

/// A packet of a server.
pub fn response_peek(packet: &[u8]) {
    assert_eq!(peek_id(packet).is_some(), packet.len() >= 2);
    let Ok(found) = peek(packet) else { return };
    assert_eq!(peek_id(packet), Some(found.id));
    assert!(found.rcode < 4096, "an extended RCODE has 12 bits");
    assert_eq!(found.question, &packet[HEADER_LEN..HEADER_LEN + found.question.len()]);
    // Of a question in other case it is the same; lengths of labels are no letters.
    let mut loud = found.question.to_vec();
    let name_end = found.question.len().saturating_sub(4);
    loud[..name_end].make_ascii_uppercase();
    assert!(same_question(found.question, found.question) && same_question(found.question, &loud));
    let flags = u16::from_be_bytes([packet[2], packet[3]]);
    assert_eq!((found.is_response(), found.is_truncated()), (flags & FLAG_QR != 0, flags & FLAG_TC != 0));
    assert_eq!(u16::from(found.opcode()), flags >> 11 & 15);
    let _ = rcode_name(found.rcode);
    let Some(qtype) = found.qtype() else { return };
    assert!(!type_name(qtype).is_empty());
    // The name is valid: its text is that of the same name.
    let text = name_to_text(found.qname());
    let mut again = Vec::new();
    encode_name(text.as_bytes(), &mut again).expect("the text of a name is a name");
    assert_eq!(again, found.qname(), "{text}");
    // A packet that is cut within its question has none; one that is cut after it has the same.
    let question_end = HEADER_LEN + found.question.len();
    assert!(peek(&packet[..question_end - 1]).is_err());
    if let Ok(cut) = peek(&packet[..packet.len() - 1]) {
        assert_eq!(cut.question, found.question);
    }
}
