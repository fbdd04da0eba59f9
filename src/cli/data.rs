//! `privateer data`: which files specs need, where their publishers have them, and whether they are here.

use super::output::say;
use super::progress::metered;
use super::source::SpecArgs;
use crate::env::DataFolder;
use crate::env::csv_table::{MOST_BYTES, read_text, text_sha256};
use crate::registry::Registry;
use clap::Args;
use privateer_config::error::Error;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct DataArgs {
    /// Spec files (TOML)
    #[arg(required_unless_present = "all", value_name = "SPEC")]
    specs: Vec<PathBuf>,
    /// List every file of the shipped specs
    #[arg(long, conflicts_with = "specs")]
    all: bool,
    #[command(flatten)]
    spec: SpecArgs,
}

/// A file that shipped specs read.
struct KnownFile {
    /// Path below the data folder.
    name: &'static str,
    /// SHA-256 of the text, unpacked.
    sha256: &'static str,
    /// Where the publisher has it.
    publisher: &'static str,
    /// How the publisher's file becomes this one.
    made: &'static str,
}

const HEAVY_TAILS: &str =
    "github.com/sayakrc/Bayesian-Optimization-under-Heavy-tailed-Payoffs at 673ce5ce40cabd95f0319e0a1b338044f160143e";

const KNOWN: [KnownFile; 8] = [
    KnownFile {
        name: "light_sensor_cmu/iw_train_raw.csv",
        sha256: "74451ffd776ef1a1f077795201b1e78c26e2d88855dce9ec38167bdc30ba6256",
        publisher: "iw_data_all.mat",
        made: "data.train.sensordata as CSV of 601 rows, with the header s1,...,s41",
    },
    KnownFile {
        name: "light_sensor_cmu/iw_test_raw.csv",
        sha256: "16bee25e59cafab704dd6612ab950abeb19bb079498f9cfc6ec609288ef63d07",
        publisher: "iw_data_all.mat",
        made: "data.test.sensordata as CSV of 192 rows, with the header s1,...,s41",
    },
    KnownFile {
        name: "stocks_dow29/fin.csv",
        sha256: "e9f7d7c3a0ad4ada75e5b8fa3830c77ed0579232b45837438c671d83b1818199",
        publisher: "fin.csv",
        made: "as published",
    },
    KnownFile {
        name: "lending_club/loans.csv",
        sha256: "25772eb47401600df5866e951e9725aa54075de87ce46aa683b04457a1f15677",
        publisher: "financial_loan.zip of github.com/meshramanup268-collab/Bank_Loan_Data_Analysis_Dashboard_PowerBI at \
                    4c7e6a76b4948beeed312493bdf90734cc38824f",
        made: r#"unzip -p financial_loan.zip | python3 -c '
import csv, sys
done = 0
print("loan_amount,int_rate,annual_income,roi")
for row in csv.DictReader(sys.stdin):
    if row["loan_status"] != "Current" and done < 36000:
        done += 1
        amount = row["loan_amount"]
        print(amount, row["int_rate"], row["annual_income"], "%.17g" % (float(row["total_payment"]) / float(amount)), sep=",")
' > lending_club/loans.csv"#,
    },
    KnownFile {
        name: "lending_club/loans-log.csv",
        sha256: "210b795785f2c569cbc0d01c6211840f1c109b4227656c7c269cb432af5e87f7",
        publisher: "as lending_club/loans.csv, from which it is made",
        made: r#"python3 -c '
import csv, math
print("loan_amount,int_rate,log_income,roi")
for row in csv.DictReader(open("lending_club/loans.csv")):
    print(row["loan_amount"], row["int_rate"], "%.6f" % math.log(float(row["annual_income"])), row["roi"], sep=",")
' > lending_club/loans-log.csv"#,
    },
    KnownFile {
        name: "singapore_private_property/ura_private_projects_fixed.csv",
        sha256: "5a73ca42c29091977e0af2e96379a2089a393d4ef6c3dc73f3058006f48ab228",
        publisher: "data/raw/ura.csv of github.com/ansellim/apartments at 0ffb2799c83dc2473f34684c2a240cc5d3078392",
        made: "swap easting and northing of the published file, convert them (EPSG:3414) to lat and long again, keep both pairs",
    },
    KnownFile {
        name: "open_bandit_men/random_men.csv.gz",
        sha256: "ede6d08c6877f99cd3770f7d09e26c738e6aa6de4445ccccfb1356ba5d06b1eb",
        publisher: "obd/random/men/men.csv of github.com/st-tech/zr-obp at 8cbd5fa4558b7ad2ba4781546d6604e4cc3e07c4",
        made: "gzip < men.csv > open_bandit_men/random_men.csv.gz",
    },
    KnownFile {
        name: "warfarin_iwpc/warfarin_iwpc_5528.csv.gz",
        sha256: "b62786d2c57fb0ebcc19acabd9028e5caff6b97ce32bc367fef5ba59fbdcbe88",
        publisher: "data/warfarin.csv of github.com/chuchro3/Warfarin at 39bca6823bd099cfb8f0367cdf928b22c8392db0",
        made: "drop the subject id and the free-text columns, keep the 5528 rows with a stable dose, gzip",
    },
];

pub fn data(registry: &Registry, args: &DataArgs) -> Result<(), Error> {
    let mut needed: Vec<(String, DataFolder, Vec<String>)> = Vec::new();
    if args.all {
        let folder = args.spec.data(Path::new(""));
        needed.extend(KNOWN.iter().map(|file| (file.name.to_owned(), folder.clone(), Vec::new())));
    }
    for path in &args.specs {
        let (sweep, folder) = (args.spec.read(registry, path)?, args.spec.data(path));
        for name in sweep.cells.iter().flat_map(|cell| cell.data_files()) {
            let spec = path.display().to_string();
            match needed.iter_mut().find(|(known, other, _)| known == name && other.takes_alike(&folder, name)) {
                Some((.., specs)) if specs.contains(&spec) => {}
                Some((.., specs)) => specs.push(spec),
                None => needed.push((name.to_owned(), folder.clone(), vec![spec])),
            }
        }
    }
    if needed.is_empty() {
        say("no data files are needed");
    }
    let digests = metered("files", |each| {
        let read = |(name, folder, _): &(String, DataFolder, Vec<String>)| {
            let text = folder.find(name, None, false).and_then(|path| read_text(&path, MOST_BYTES));
            each(needed.len() as u64);
            text.map(|text| text_sha256(&text))
        };
        needed.iter().map(read).collect::<Vec<_>>()
    });
    for ((name, folder, specs), digest) in needed.iter().zip(digests) {
        say(name);
        let known = KNOWN.iter().find(|file| file.name == name);
        if !specs.is_empty() {
            say(&format!("  needed by  {}", specs.join(", ")));
        }
        if let Some(file) = known {
            let source = if file.publisher.contains(' ') {
                file.publisher.to_owned()
            } else {
                format!("{} of {HEAVY_TAILS}", file.publisher)
            };
            say(&format!("  publisher  {source}"));
            say(&format!("  sha256     {}{}", file.sha256, if name.ends_with(".gz") { " (unpacked)" } else { "" }));
            say(&format!("  made by    {}", file.made));
        }
        let state = match digest {
            Err(_) => "missing".to_owned(),
            Ok(digest) => match known {
                Some(file) if digest == file.sha256 => "present, with this digest".to_owned(),
                Some(_) => format!("present, with another digest: {digest}"),
                None => format!("present, sha256 {digest}"),
            },
        };
        say(&format!("  here       {state} (in {})", folder.place_of(name)));
    }
    Ok(())
}
