//! A strict reader of NumPy's `.npy` files, versions 1 and 2: little-endian f64 or i64 in C order, finite numbers only.

use privateer_config::error::Error;
use std::fs;
use std::path::Path;

const MAGIC: &[u8] = b"\x93NUMPY";
const HINT: &str = "write it with `numpy.save`, from a C-ordered array of little-endian float64 (points: int64)";

/// An array of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Floats {
    /// Length of each axis.
    pub shape: Vec<usize>,
    /// Entries, last axis fastest.
    pub values: Vec<f64>,
}

/// Reads an array of `<f8`.
///
/// # Errors
/// [`Error::Corrupt`] if it is not such an array or an entry is not finite; [`Error::Folder`] if it is not there.
pub fn floats(path: &Path) -> Result<Floats, Error> {
    let (shape, words) = read(path, "<f8")?;
    let values: Vec<f64> = words.into_iter().map(f64::from_le_bytes).collect();
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(corrupt(path, format!("holds {} as entry {at}, expected finite numbers", values[at]))),
        None => Ok(Floats { shape, values }),
    }
}

/// Reads an array of `<i8` and its shape.
///
/// # Errors
/// As [`floats`].
pub fn integers(path: &Path) -> Result<(Vec<usize>, Vec<i64>), Error> {
    let (shape, words) = read(path, "<i8")?;
    Ok((shape, words.into_iter().map(i64::from_le_bytes).collect()))
}

fn corrupt(path: &Path, problem: String) -> Error {
    Error::Corrupt { path: path.to_owned(), problem, hint: HINT.to_owned() }
}

/// The shape, and the entries as they lie in the file.
fn read(path: &Path, dtype: &str) -> Result<(Vec<usize>, Vec<[u8; 8]>), Error> {
    let bytes = fs::read(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::IsADirectory => Error::Folder {
            path: path.to_owned(),
            problem: "is not there, or no file".to_owned(),
            hint: "an instance folder holds x.npy, Phi.npy, f.npy, noise.npy, start.npy and instance.json".to_owned(),
        },
        _ => Error::io("read the array", path, source),
    })?;
    let (shape, data) = split(&bytes, dtype).map_err(|problem| corrupt(path, problem))?;
    let (words, _) = data.as_chunks::<8>();
    Ok((shape, words.to_vec()))
}

/// The shape that the header states, and the data, which is as long as the shape says.
fn split<'b>(bytes: &'b [u8], dtype: &str) -> Result<(Vec<usize>, &'b [u8]), String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("is no .npy file: it does not start with `\\x93NUMPY`")?;
    let cut = || "ends within its header".to_owned();
    let (length, rest) = match rest {
        [1, 0, low, high, rest @ ..] => (usize::from(u16::from_le_bytes([*low, *high])), rest),
        [2, 0, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        [1 | 2, 0, ..] | [_] | [] => return Err(cut()),
        [major, minor, ..] => return Err(format!("is of .npy version {major}.{minor}, expected 1.0 or 2.0")),
    };
    let (header, data) = rest.split_at_checked(length).ok_or_else(cut)?;
    let header = str::from_utf8(header).map_err(|_| "has a header that is not text".to_owned())?;
    let header = Header::parse(header).ok_or_else(|| format!("has a header that is not understood: `{}`", header.trim()))?;
    if header.dtype != dtype {
        return Err(format!("holds `{}`, expected `{dtype}`", header.dtype));
    }
    if header.fortran {
        return Err("is in Fortran order, expected C order".to_owned());
    }
    let entries = header.shape.iter().try_fold(1usize, |product, &length| product.checked_mul(length));
    let expected = entries.and_then(|entries| entries.checked_mul(8));
    if expected != Some(data.len()) {
        let (shape, found) = (&header.shape, data.len());
        return Err(format!("has {found} bytes of data, expected those of shape {shape:?} (8 an entry)"));
    }
    Ok((header.shape, data))
}

/// The three entries of a header.
#[derive(Debug, PartialEq)]
struct Header {
    dtype: String,
    fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    /// Reads `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order, each once.
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
        let (mut dtype, mut fortran, mut shape) = (None, None, None);
        while !rest.is_empty() {
            let (key, after) = rest.strip_prefix('\'')?.split_once('\'')?;
            let value = after.trim_start().strip_prefix(':')?.trim_start();
            let after = match key {
                "descr" if dtype.is_none() => {
                    let (word, after) = value.strip_prefix('\'')?.split_once('\'')?;
                    dtype = Some(word.to_owned());
                    after
                }
                "fortran_order" if fortran.is_none() => {
                    let (is_fortran, after) = value
                        .strip_prefix("False")
                        .map(|after| (false, after))
                        .or(value.strip_prefix("True").map(|after| (true, after)))?;
                    fortran = Some(is_fortran);
                    after
                }
                "shape" if shape.is_none() => {
                    let (inside, after) = value.strip_prefix('(')?.split_once(')')?;
                    let lengths = inside.split(',').map(str::trim).filter(|length| !length.is_empty());
                    shape = Some(lengths.map(|length| length.parse().ok()).collect::<Option<Vec<usize>>>()?);
                    after
                }
                _ => return None,
            };
            let after = after.trim_start();
            rest = match after.strip_prefix(',') {
                Some(next) => next.trim_start(),
                None if after.is_empty() => after,
                None => return None,
            };
        }
        Some(Self { dtype: dtype?, fortran: fortran?, shape: shape? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of version 1 with this header and data.
    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    const GOOD: &str = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }          \n";

    #[test]
    fn both_versions_are_read() {
        let data: Vec<u8> = (0..6).flat_map(|i| f64::from(i).to_le_bytes()).collect();
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.npy");
        fs::write(&path, file(GOOD, &data)).expect("written");
        let expected = Floats { shape: vec![2, 3], values: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0] };
        assert_eq!(floats(&path).expect("an array"), expected);
        let mut second = MAGIC.to_vec();
        second.extend([2, 0]);
        second.extend((GOOD.len() as u32).to_le_bytes());
        second.extend(GOOD.as_bytes());
        second.extend(&data);
        fs::write(&path, second).expect("written");
        assert_eq!(floats(&path).expect("an array"), expected);
        let header = "{'shape': (1,), 'fortran_order': False, 'descr': '<i8'}";
        fs::write(&path, file(header, &(-7i64).to_le_bytes())).expect("written");
        assert_eq!(integers(&path).expect("an array"), (vec![1], vec![-7]));
        fs::write(&path, file("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", &data[..8])).expect("written");
        assert_eq!(floats(&path).expect("a scalar").shape, Vec::<usize>::new());
    }

    #[test]
    fn everything_else_is_explained() {
        let six = [0u8; 48];
        for (bytes, part) in [
            (vec![], "does not start with"),
            (b"PK\x03\x04 a zip".to_vec(), "does not start with"),
            (MAGIC.to_vec(), "ends within its header"),
            ([MAGIC, &[3, 0, 1, 0]].concat(), "version 3.0, expected 1.0 or 2.0"),
            ([MAGIC, &[1, 0, 200]].concat(), "ends within its header"),
            ([MAGIC, &[1, 0, 200, 0]].concat(), "ends within its header"),
            ([MAGIC, &[2, 0, 255, 255, 255, 255]].concat(), "ends within its header"),
            (file("{}", &six), "header that is not understood"),
            (file("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2, 3), }", &six), "not understood"),
            (file("{'descr': '<f8', 'fortran_order': False, 'shape': (2, -3), }", &six), "not understood"),
            (file("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'more': 1}", &six), "not understood"),
            (file(&GOOD.replace("<f8", "<f4"), &six), "holds `<f4`, expected `<f8`"),
            (file(&GOOD.replace("<f8", ">f8"), &six), "holds `>f8`, expected `<f8`"),
            (file(&GOOD.replace("False", "True"), &six), "Fortran order"),
            (file(GOOD, &six[..47]), "has 47 bytes of data, expected those of shape [2, 3]"),
            (file(GOOD, &[0; 49]), "has 49 bytes of data"),
            (file(&GOOD.replace("(2, 3)", &format!("({0}, {0})", usize::MAX)), &six), "has 48 bytes"),
        ] {
            let said = split(&bytes, "<f8").expect_err("refused");
            assert!(said.contains(part), "{said}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.npy");
        let data: Vec<u8> = [1.0, f64::NAN, 0.0, 0.0, 0.0, 0.0].into_iter().flat_map(f64::to_le_bytes).collect();
        fs::write(&path, file(GOOD, &data)).expect("written");
        let said = floats(&path).expect_err("refused").to_string();
        assert!(said.contains("holds NaN as entry 1"), "{said}");
        assert_eq!(floats(&folder.path().join("b.npy")).expect_err("refused").exit_code() as u8, 2);
    }
}
