//! Makes a results folder from the objects below a prefix.

use super::bucket::{AT_ONCE, Bucket};
use crate::record::{ListedFile, Manifest, PartId, RunRecord, SPEC_NAME, TIMINGS_NAME, write_listed, write_whole};
use privateer_config::error::Error;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Name of the manifest of the run that came first.
pub(super) const MANIFEST_NAME: &str = "manifest.json";

/// Fills the empty folder `out` with what runs have put below a prefix, for `record::merge`; `false` where nothing is there.
///
/// # Errors
/// Those of the store; [`Error::Corrupt`] where an object is not what was put; [`Error::Io`] where the disk refuses.
pub fn download(bucket: &Bucket, out: &Path) -> Result<bool, Error> {
    if !parts(bucket, out, |_| true)? {
        return Ok(false);
    }
    let named = |folder: &str| -> Result<Vec<String>, Error> {
        Ok(bucket.names(folder)?.into_iter().map(|name| format!("{folder}/{name}")).collect())
    };
    let records = bucket.get_all(&named("runs")?)?;
    let records: Vec<RunRecord> = records.iter().filter_map(|bytes| RunRecord::parse(bytes)).collect();
    if let Some(record) = RunRecord::joined(&records) {
        record.save(out)?;
    }
    let timings = bucket.get_all(&named("timings")?)?;
    // Each begins with the same heading.
    let heading = |bytes: &[u8]| bytes.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |at| at + 1);
    let mut all = timings.first().map_or_else(Vec::new, |first| first[..heading(first)].to_vec());
    timings.iter().for_each(|bytes| all.extend_from_slice(&bytes[heading(bytes)..]));
    if !all.is_empty() {
        write_whole(&out.join(TIMINGS_NAME), &all, "write the timings")?;
    }
    Ok(true)
}

/// Returns how many parts are below a prefix, and how many a whole run has; `None` where no run has put a part.
pub fn stored_parts(bucket: &Bucket) -> Result<Option<(u64, u64)>, Error> {
    let scratch = tempfile::tempdir().map_err(|source| Error::io("create a folder in", std::env::temp_dir(), source))?;
    if !parts(bucket, scratch.path(), |_| false)? {
        return Ok(None);
    }
    let manifest = Manifest::load(scratch.path())?;
    let names = bucket.names("cells")?;
    let done = names.iter().filter(|name| PartId::from_file_name(name).is_some_and(|id| manifest.has(id))).count();
    Ok(Some((done as u64, manifest.parts().len() as u64)))
}

/// Fills an empty folder with the manifest and the parts that `wanted` names.
pub(super) fn parts(bucket: &Bucket, out: &Path, wanted: impl Fn(PartId) -> bool) -> Result<bool, Error> {
    let Some(bytes) = bucket.get(MANIFEST_NAME)? else { return Ok(false) };
    write_whole(&Manifest::path(out), &bytes, "write the manifest")?;
    let manifest = Manifest::load(out)?;
    write_whole(&out.join(SPEC_NAME), manifest.spec_text.as_bytes(), "write the resolved spec")?;
    let ids = |name: &String| PartId::from_file_name(name).filter(|&id| manifest.has(id) && wanted(id));
    let found: BTreeSet<PartId> = bucket.names("cells")?.iter().filter_map(ids).collect();
    let with_parameters: BTreeSet<String> = bucket.names("parameters")?.into_iter().collect();
    let parameters = |id: &PartId| {
        let name = crate::record::Parameters::listed_name(*id);
        with_parameters.contains(name.trim_start_matches("parameters/")).then_some(name)
    };
    for folder in ["cells", "parameters"] {
        let folder = out.join(folder);
        fs::create_dir_all(&folder).map_err(|source| Error::io("create the folder", &folder, source))?;
    }
    // Released parameters are listed before their part.
    let names: Vec<String> = found.iter().filter_map(parameters).chain(found.iter().map(|id| id.listed_name())).collect();
    for names in names.chunks(AT_ONCE) {
        let bytes = bucket.get_all(names)?;
        let files: Vec<_> = names.iter().cloned().zip(bytes).map(|(name, bytes)| ListedFile { name, bytes }).collect();
        write_listed(out, &files, "write the parts")?;
    }
    Ok(true)
}
