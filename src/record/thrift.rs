//! Reads Thrift's compact protocol, in which Parquet describes itself; every count is compared with the bytes left.
//!
//! The Parquet decoder allocates what a file claims; this reader looks first. It keeps only numbers, structures and lists.

/// Deepest nesting; Parquet's own is 8.
const MOST_DEPTH: usize = 16;

/// Holds one value; texts and binary data are passed over.
#[derive(Debug, PartialEq)]
pub(super) enum Thrift {
    Number(i64),
    Other,
    List(Vec<Thrift>),
    Struct(Vec<(i16, Thrift)>),
}

impl Thrift {
    /// Returns a field of a structure.
    pub(super) fn field(&self, id: i16) -> Option<&Self> {
        match self {
            Self::Struct(fields) => fields.iter().find(|(found, _)| *found == id).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns a field that is a number.
    pub(super) fn number(&self, id: i16) -> Option<i64> {
        match self.field(id)? {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns a field that is a list; empty where there is none.
    pub(super) fn list(&self, id: i16) -> &[Self] {
        match self.field(id) {
            Some(Self::List(values)) => values,
            _ => &[],
        }
    }
}

/// Reads one structure from the start of `bytes`; returns it and its length. `None` where the bytes are not a structure.
pub(super) fn read_struct(bytes: &[u8]) -> Option<(Thrift, usize)> {
    let mut reader = ThriftReader { bytes, at: 0 };
    let value = reader.structure(0)?;
    Some((value, reader.at))
}

struct ThriftReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl ThriftReader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Skips this number of bytes.
    fn skip(&mut self, n_bytes: u64) -> Option<Thrift> {
        let end = self.at.checked_add(usize::try_from(n_bytes).ok()?)?;
        if self.bytes.len() < end {
            return None;
        }
        self.at = end;
        Some(Thrift::Other)
    }

    fn structure(&mut self, depth: usize) -> Option<Thrift> {
        if MOST_DEPTH < depth {
            return None;
        }
        let (mut fields, mut id) = (Vec::new(), 0_i16);
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(Thrift::Struct(fields));
            }
            id = match head >> 4 {
                0 => i16::try_from(self.zigzag()?).ok()?,
                step => id.checked_add(i16::from(step))?,
            };
            // Booleans are in the head itself.
            let value = match head & 0x0f {
                1 | 2 => Thrift::Other,
                kind => self.value(kind, depth)?,
            };
            fields.push((id, value));
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Option<Thrift> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.zigzag().map(Thrift::Number),
            7 => self.skip(8),
            8 => {
                let n_bytes = self.varint()?;
                self.skip(n_bytes)
            }
            9 | 10 => self.list(depth + 1),
            12 => self.structure(depth + 1),
            // Maps are in no structure of Parquet.
            _ => None,
        }
    }

    fn list(&mut self, depth: usize) -> Option<Thrift> {
        if MOST_DEPTH < depth {
            return None;
        }
        let head = self.byte()?;
        let n_values = match head >> 4 {
            15 => usize::try_from(self.varint()?).ok()?,
            n => usize::from(n),
        };
        // Every value takes a byte at least.
        if self.bytes.len() - self.at < n_values {
            return None;
        }
        let values = (0..n_values).map(|_| self.value(head & 0x0f, depth)).collect::<Option<Vec<_>>>()?;
        Some(Thrift::List(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lists_and_structures_are_read() {
        // Field 1: i32 = -3; field 3: list of two i32; field 4: text; field 5: a structure with field 1 = 7; field 26 by its long form.
        let bytes = [0x15, 5, 0x29, 0x25, 2, 4, 0x18, 2, b'h', b'i', 0x1c, 0x15, 14, 0, 0x05, 52, 2, 0, 99];
        let (value, n_bytes) = read_struct(&bytes).expect("a structure");
        assert_eq!(n_bytes, bytes.len() - 1);
        assert_eq!((value.number(1), value.number(26)), (Some(-3), Some(1)));
        assert_eq!(value.list(3), [Thrift::Number(1), Thrift::Number(2)]);
        assert_eq!(value.field(5).and_then(|inner| inner.number(1)), Some(7));
    }

    #[test]
    fn false_counts_ask_for_no_memory() {
        // A list of 2^31 values in nine bytes, a text of as many, a nest of structures, a number without an end.
        let many = [0xff, 0xff, 0xff, 0xff, 0x07];
        let list = [[0x19, 0xf5].as_slice(), &many, &[0, 0]].concat();
        let text = [[0x18].as_slice(), &many, &[0, 0]].concat();
        for bytes in [list, text, vec![0x1c; 1 << 20], vec![0x19; 1 << 20], [vec![0x15], vec![0x80; 40]].concat(), Vec::new()] {
            assert_eq!(read_struct(&bytes), None);
        }
    }
}
