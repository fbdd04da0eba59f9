//! Puts and gets objects below one prefix of an object store.

use crate::record::hash_bytes;
use futures_util::future::try_join_all;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{Attribute, Attributes, Error as StoreError, ObjectStore, ObjectStoreExt, PutMode, PutOptions, RetryConfig};
use privateer_config::error::{Diagnostic, Error};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Requests that are under way together.
pub(super) const AT_ONCE: usize = 16;
/// Metadata under which an object's SHA-256 stands.
const DIGEST_KEY: &str = "sha256";
/// How often a put is tried whose answer never came, and the pause before the second try; each further one is twice as long.
/// Two tries span the client's own [`RETRY_TIMEOUT`] each, so that a store may be away for about a minute.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(250);
/// Longest that the client tries one request again by itself.
const RETRY_TIMEOUT: Duration = Duration::from_secs(20);
const MOST_RETRIES: usize = 5;

/// What is wrong where a store refuses, and what to do.
const ACCESS_HINT: &str = "check the bucket's name and, in the environment, `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ALLOW_HTTP` and \
                           the credentials";

/// Holds the place of results in an object store.
///
/// Every function fails with [`Error::Folder`] where the store refuses, [`Error::Io`] where it does not answer, and
/// [`Error::Corrupt`] where bytes are not those that were put.
#[derive(Debug)]
pub struct Bucket {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    address: String,
    runtime: Runtime,
}

impl Bucket {
    /// Opens `s3://BUCKET/PREFIX` with region, endpoint and credentials of the environment; connects to nothing yet. Where the process has
    /// chosen no encryption for TLS, `ring` becomes that of the whole process.
    ///
    /// # Errors
    /// [`Error::Input`] for any other address and for settings of the environment that cannot be used.
    pub fn open(address: &str) -> Result<Self, Error> {
        let wrong = || Diagnostic::new(format!("`{address}` is no place for results")).expected(EXPECTED).error();
        let (bucket, prefix) = match address.strip_prefix("s3://") {
            Some(rest) => rest.split_once('/').unwrap_or((rest, "")),
            None => return Err(wrong()),
        };
        let prefix = Path::parse(prefix.trim_end_matches('/')).map_err(|_| wrong())?;
        if bucket.is_empty() {
            return Err(wrong());
        }
        rustls::crypto::ring::default_provider().install_default().ok();
        let retry = RetryConfig { max_retries: MOST_RETRIES, retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() };
        let store = AmazonS3Builder::from_env()
            .with_bucket_name(bucket)
            .with_retry(retry)
            .build()
            .map_err(|error| Diagnostic::new(format!("`{address}` cannot be opened: {error}")).hint(ACCESS_HINT).error())?;
        Self::over(Arc::new(store), prefix, address)
    }

    /// Returns a place in any store.
    fn over(store: Arc<dyn ObjectStore>, prefix: Path, address: &str) -> Result<Self, Error> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|source| Error::io("start the client of", address, source))?;
        Ok(Self { store, prefix, address: address.trim_end_matches('/').to_owned(), runtime })
    }

    /// Returns the address of an object.
    pub fn address_of(&self, name: &str) -> PathBuf {
        format!("{}/{name}", self.address).into()
    }

    /// Returns the address that was opened.
    pub fn address(&self) -> &str {
        &self.address
    }

    fn path(&self, name: &str) -> Path {
        Path::from_iter(self.prefix.parts().chain(Path::from(name).parts()))
    }

    /// Puts objects that must not replace others; one that is there with the same bytes is success.
    ///
    /// A put whose answer is lost is tried again: what was stored nevertheless is found to be equal.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where an object with other bytes is there. Others of the objects may be in place then.
    pub fn put_new(&self, files: &[(String, Vec<u8>)]) -> Result<(), Error> {
        for files in files.chunks(AT_ONCE) {
            self.runtime.block_on(try_join_all(files.iter().map(|(name, bytes)| self.put_one(name, bytes))))?;
        }
        Ok(())
    }

    async fn put_one(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let (path, digest) = (self.path(name), hash_bytes(bytes));
        let mut pause = PAUSE;
        for n_left in (0..TRIES).rev() {
            let attributes = Attributes::from_iter([(Attribute::Metadata(DIGEST_KEY.into()), digest.clone())]);
            let options = PutOptions { mode: PutMode::Create, attributes, ..PutOptions::default() };
            match self.store.put_opts(&path, bytes.to_vec().into(), options).await {
                Ok(_) => return Ok(()),
                Err(StoreError::AlreadyExists { .. }) => match self.get_one(name).await? {
                    Some(found) if found == bytes => return Ok(()),
                    Some(found) => return Err(self.differs(name, &hash_bytes(&found), &digest)),
                    // Another put of it is under way.
                    None if 0 < n_left => {}
                    None => return Err(self.silent("write", name, "it is written by another run and does not appear")),
                },
                Err(StoreError::Generic { .. }) if 0 < n_left => {}
                Err(error) => return Err(self.refused("write", name, error)),
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        Err(self.silent("write", name, "the store does not answer"))
    }

    /// Puts an object in place of any that is there.
    pub fn replace(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let put = async { self.store.put(&self.path(name), bytes.into()).await.map(|_| ()) };
        self.runtime.block_on(put).map_err(|error| self.refused("write", name, error))
    }

    /// Removes an object; it need not be there.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        match self.runtime.block_on(async { self.store.delete(&self.path(name)).await }) {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.refused("remove", name, error)),
        }
    }

    /// Returns the bytes of an object; `None` if it does not exist.
    pub fn get(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.runtime.block_on(self.get_one(name))
    }

    /// Returns the bytes of objects that are there.
    pub fn get_all(&self, names: &[String]) -> Result<Vec<Vec<u8>>, Error> {
        let get = async |name: &String| {
            self.get_one(name).await?.ok_or_else(|| self.corrupt(name, "was listed and is not there".to_owned()))
        };
        let mut all = Vec::with_capacity(names.len());
        for names in names.chunks(AT_ONCE) {
            all.extend(self.runtime.block_on(try_join_all(names.iter().map(get)))?);
        }
        Ok(all)
    }

    async fn get_one(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let found = match self.store.get(&self.path(name)).await {
            Ok(found) => found,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(self.refused("read", name, error)),
        };
        let stated = found.attributes.get(&Attribute::Metadata(DIGEST_KEY.into())).map(|digest| digest.to_string());
        let bytes = found.bytes().await.map_err(|error| self.refused("read", name, error))?.to_vec();
        let digest = hash_bytes(&bytes);
        match stated {
            Some(stated) if stated == digest => Ok(Some(bytes)),
            Some(_) => Err(self.corrupt(name, "is not what was written: its SHA-256 is not the one beside it".to_owned())),
            None => Err(self.corrupt(name, format!("has no SHA-256 (metadata `{DIGEST_KEY}`): another program put it there"))),
        }
    }

    /// Returns the names of the objects directly below `folder`, in order.
    pub fn names(&self, folder: &str) -> Result<Vec<String>, Error> {
        let listed = self.runtime.block_on(async { self.store.list_with_delimiter(Some(&self.path(folder))).await });
        let listed = listed.map_err(|error| self.refused("list", folder, error))?;
        let mut names: Vec<_> = listed.objects.iter().filter_map(|found| found.location.filename().map(str::to_owned)).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn differs(&self, name: &str, found: &str, made: &str) -> Error {
        self.corrupt(name, format!("has other bytes (SHA-256 {found}) than what was computed here (SHA-256 {made})"))
    }

    fn corrupt(&self, name: &str, problem: String) -> Error {
        let hint =
            "it is altered, or from another version of the program: compare, delete the wrong one and run that share again";
        Error::corrupt(self.address_of(name), problem, hint)
    }

    fn silent(&self, action: &str, name: &str, problem: &str) -> Error {
        Error::io(action, self.address_of(name), std::io::Error::other(problem.to_owned()))
    }

    fn refused(&self, action: &str, name: &str, error: StoreError) -> Error {
        match error {
            StoreError::Generic { .. } => self.silent(action, name, &error.to_string()),
            error => Error::folder(self.address_of(name), format!("cannot be used: {error}"), ACCESS_HINT),
        }
    }
}

/// What an address looks like.
pub const EXPECTED: &str = "a folder, or an object store as `s3://BUCKET/PREFIX`";

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use object_store::memory::InMemory;

    /// Returns a place in memory, and the store behind it.
    pub(in super::super) fn memory() -> (Bucket, Arc<InMemory>) {
        let store = Arc::new(InMemory::new());
        (Bucket::over(store.clone(), Path::from("some/prefix"), "s3://bucket/some/prefix").expect("a runtime"), store)
    }

    fn file(name: &str, text: &str) -> (String, Vec<u8>) {
        (name.to_owned(), text.as_bytes().to_vec())
    }

    #[test]
    fn nothing_is_replaced_by_other_bytes() {
        let (bucket, _) = memory();
        let files = [file("cells/a", "1"), file("cells/b", "2")];
        bucket.put_new(&files).expect("put");
        bucket.put_new(&files[..1]).expect("equal bytes are there");
        let error = bucket.put_new(&[file("cells/b", "3")]).expect_err("differs");
        let said = error.to_string();
        assert!(matches!(error, Error::Corrupt { .. }), "{said}");
        for part in ["s3://bucket/some/prefix/cells/b", &hash_bytes(b"2"), &hash_bytes(b"3")] {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(bucket.get("cells/b").expect("read"), Some(b"2".to_vec()));
        assert_eq!(bucket.names("cells").expect("listed"), ["a", "b"]);
        bucket.remove("cells/b").expect("removed");
        bucket.remove("cells/b").expect("not there");
        assert_eq!(bucket.get("cells/b").expect("read"), None);
    }

    #[test]
    fn what_is_not_what_was_put_is_refused() {
        let (bucket, store) = memory();
        bucket.put_new(&[file("cells/a", "1")]).expect("put");
        // Other bytes under the digest that was stated, and bytes without one.
        let digest = Attributes::from_iter([(Attribute::Metadata(DIGEST_KEY.into()), hash_bytes(b"1"))]);
        for (attributes, said) in [(digest, "not the one beside it"), (Attributes::new(), "has no SHA-256")] {
            let options = PutOptions { attributes, ..PutOptions::default() };
            let path = bucket.path("cells/a");
            bucket.runtime.block_on(store.put_opts(&path, "2".into(), options)).expect("altered");
            let error = bucket.get("cells/a").expect_err("altered").to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn addresses_are_read() {
        for wrong in ["s3://", "s3:///prefix", "gs://bucket/prefix", "s3://bucket/a//b", "https://bucket"] {
            let error = Bucket::open(wrong).expect_err(wrong);
            assert!(matches!(error, Error::Input(_)), "{error}");
        }
    }
}
