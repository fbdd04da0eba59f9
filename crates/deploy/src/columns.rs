//! What a file releases: one column for each mechanism, with its ledger, and the sessions over them.

use super::file::{DeploymentFile, Side};
use super::seal;
use super::seal::text;
use privateer_config::error::Error;
use privateer_engine::env::CuratedLedger;
use privateer_privacy::Ledger;
use privateer_privacy::odometer::{DeploymentForm, Spend};
use rusqlite::types::{Value, ValueRef};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// What is released by one mechanism.
#[derive(Debug, Clone)]
pub struct Column {
    pub number: i64,
    /// Random name of the session, release state or curated table that draws the noise.
    pub source: String,
    /// Whether the noise is drawn for this file.
    pub is_own: bool,
    /// Who adds the noise.
    pub form: DeploymentForm,
    /// What is measured.
    pub name: String,
    /// What one answer takes from a record; `None` where rewards pass no mechanism.
    pub spend: Option<Spend>,
    /// The ledger of one answer; `None` for a curated table, whose ledger is a file of its own.
    pub ledger: Option<Ledger>,
    /// The file whose budget counts the answers too.
    pub odometer: Option<OdometerLink>,
    pub n: u64,
}

impl Column {
    /// Returns a column that is in no file so far.
    pub fn new(source: String, form: DeploymentForm, name: String, spend: Option<Spend>, ledger: Option<Ledger>) -> Self {
        Self { number: 0, source, is_own: true, form, name, spend, ledger, odometer: None, n: 0 }
    }

    /// Returns the column of a curated table, with the name of its one release; `None` where it states no loss that can be added up.
    pub fn of_table(ledger: &CuratedLedger) -> Option<(Self, seal::Seal)> {
        let (spend, name) = (ledger.spend()?, seal::bytes(ledger.sha256.get(..2 * seal::N_BYTES)?)?);
        let (source, sources) = (spend.session.clone(), ledger.sources.join(", "));
        let column = Self::new(source, DeploymentForm::DataHolder, sources, Some(spend), None);
        Some((Self { is_own: false, ..column }, name))
    }
}

/// States where a shared odometer is, and which one it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OdometerLink {
    pub path: PathBuf,
    pub id: String,
}

#[derive(Debug, Clone)]
pub struct SessionRow {
    pub column: i64,
    pub name: String,
    pub spec_name: String,
    pub spec: String,
    pub spec_hash: String,
    pub data: PathBuf,
    pub fingerprint: String,
    pub asked: Option<u64>,
}

/// The parts of a column that are kept as terms.
const SPEND: &str = "spend";
const LEDGER: &str = "ledger";
/// What the first value of a data holder declares.
pub const DECLARATION: &str = "declaration";

impl DeploymentFile {
    pub(super) fn add_column(&self, side: Side, column: &Column, declaration: Option<&impl Serialize>) -> Result<i64, Error> {
        let number = self.next(side, "columns", "column_id")?;
        let mut all: Vec<(&str, String, Value)> = Vec::new();
        let mut add = |part: &'static str, terms: serde_json::Result<Vec<(String, Value)>>| {
            let terms = terms.map_err(|why| Error::failed(why.to_string(), "please report this"))?;
            all.extend(terms.into_iter().map(|(name, value)| (part, name, value)));
            Ok::<(), Error>(())
        };
        column.spend.as_ref().map(|spend| add(SPEND, seal::terms(spend))).transpose()?;
        column.ledger.as_ref().map(|ledger| add(LEDGER, seal::terms(ledger))).transpose()?;
        declaration.map(|declaration| add(DECLARATION, seal::terms(declaration))).transpose()?;
        let insert = format!("INSERT INTO {}.terms VALUES (?1, ?2, ?3, ?4)", side.schema());
        let mut statement = self.statement(&insert)?;
        for (part, name, value) in &all {
            statement.execute((number, part, name, value)).map_err(|why| self.failed(&why))?;
        }
        let link = column.odometer.as_ref();
        let mechanism = match (&column.spend, &column.ledger) {
            (Some(spend), _) => &spend.mechanism,
            (None, Some(ledger)) => &ledger.mechanism,
            (None, None) => "none",
        };
        let row = [
            number.into(),
            text(&column.source),
            column.is_own.into(),
            column.form.to_string().into(),
            text(&column.name),
            text(mechanism),
            column.spend.as_ref().map(|spend| spend.epsilon).into(),
            column.spend.as_ref().map(|spend| spend.delta).into(),
            link.map(|link| link.path.to_string_lossy().into_owned()).into(),
            link.map(|link| link.id.clone()).into(),
            self.terms_seal(side, number)?.to_vec().into(),
            Value::Integer(0),
        ];
        self.insert(side, "columns", row)?;
        Ok(number)
    }

    fn terms_seal(&self, side: Side, column: i64) -> Result<seal::Seal, Error> {
        let terms = self.all_terms(side, column)?;
        let values = terms.iter().flat_map(|(part, name, value)| {
            [ValueRef::Text(part.as_bytes()), ValueRef::Text(name.as_bytes()), ValueRef::from(value)]
        });
        Ok(seal::seal(&[b"terms"], values))
    }

    fn all_terms(&self, side: Side, column: i64) -> Result<Vec<(String, String, Value)>, Error> {
        let sql = format!("SELECT part, name, value FROM {}.terms WHERE column_id = ?1 ORDER BY part, name", side.schema());
        self.all(&sql, [column], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    }

    /// Returns a part of a column; `None` where it has none.
    pub(super) fn part<T: DeserializeOwned>(&self, side: Side, column: i64, part: &str) -> Result<Option<T>, Error> {
        let terms = self.all_terms(side, column)?.into_iter().filter(|term| term.0 == part);
        let terms: Vec<(String, Value)> = terms.map(|(_, name, value)| (name, value)).collect();
        if terms.is_empty() {
            return Ok(None);
        }
        seal::of_terms(&terms).map(Some).map_err(|why| {
            let problem = format!("holds the {part} of column {column} in words of another version of this program ({why})");
            Error::corrupt(self.path_of(side), problem, "go on with the version that wrote it")
        })
    }

    pub(super) fn columns(&self, side: Side) -> Result<Vec<Column>, Error> {
        let read = |row: &rusqlite::Row<'_>| {
            let odometer: Option<String> = row.get("odometer")?;
            let id: Option<String> = row.get("odometer_id")?;
            let form: String = row.get("form")?;
            let column = Column {
                number: row.get("column_id")?,
                source: row.get("source")?,
                is_own: row.get("is_own")?,
                form: form.parse().unwrap_or(DeploymentForm::TrustedCurator),
                name: row.get("name")?,
                spend: None,
                ledger: None,
                odometer: odometer.zip(id).map(|(path, id)| OdometerLink { path: path.into(), id }),
                n: row.get::<_, i64>("n")? as u64,
            };
            Ok((column, row.get::<_, seal::Seal>("terms")?))
        };
        let found = self.rows(side, ("columns", "1 ORDER BY column_id"), &[], read)?;
        let filled = found.into_iter().map(|(column, terms)| {
            if self.terms_seal(side, column.number)? != terms {
                return Err(self.altered(side, &format!("the terms of column {}", column.number)));
            }
            let spend = self.part(side, column.number, SPEND)?;
            let ledger = self.part(side, column.number, LEDGER)?;
            Ok(Column { spend, ledger, ..column })
        });
        filled.collect()
    }

    /// Adds a session, or replaces what is kept of it.
    pub(super) fn add_session(&self, session: &SessionRow) -> Result<(), Error> {
        let row = [
            session.column.into(),
            text(&session.name),
            text(&session.spec_name),
            text(&session.spec),
            text(&session.spec_hash),
            session.data.display().to_string().into(),
            text(&session.fingerprint),
            session.asked.map(|row| row as i64).into(),
        ];
        self.insert(Side::Own, "sessions", row)
    }

    pub(super) fn sessions(&self) -> Result<Vec<SessionRow>, Error> {
        self.rows(Side::Own, ("sessions", "1 ORDER BY column_id"), &[], |row| {
            Ok(SessionRow {
                column: row.get("column_id")?,
                name: row.get("name")?,
                spec_name: row.get("spec_name")?,
                spec: row.get("spec")?,
                spec_hash: row.get("spec_hash")?,
                data: row.get::<_, String>("data")?.into(),
                fingerprint: row.get("fingerprint")?,
                asked: row.get::<_, Option<i64>>("asked")?.map(|row| row as u64),
            })
        })
    }
}
