//! Ties each proof to the functions and constants that it is about.
//!
//! The last part of every page under `docs/proofs` is a block of pins: a source file, then one line an item with a hash of its code. Comments,
//! documentation, texts between quotes and layout do not count, so that prose changes without breaking a pin; a changed formula breaks it. Every
//! function and numeric constant of a pinned file stands in some block, but for the names in `UNPINNED`.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::{ImplItem, Item, TraitItem};

/// Functions that no proof rests on: they make sentences.
const UNPINNED: [&str; 3] = ["fmt", "words", "name"];

/// Files of the privacy room's folders that no page is about: contracts, requests and results without formulas, mechanisms without privacy,
/// and helpers that other tests compare.
const UNPROVED: [&str; 28] = [
    "channel",
    "contract",
    "blt_fit",
    "error",
    "facts",
    "form",
    "honaker",
    "identity",
    "law",
    "ledger",
    "list",
    "mod",
    "noise",
    "outside",
    "none",
    "no_privacy",
    "outcome",
    "own",
    "received",
    "request",
    "reward",
    "running",
    "sample",
    "state",
    "statement",
    "stored",
    "transform",
    "zcdp",
];

const START: &str = "```pins\n";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The code of an item as one text: no documentation, no attributes but `cfg`, no texts, no commas.
fn essence(tokens: TokenStream, text: &mut String) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                if let Some(TokenTree::Group(group)) = tokens.peek()
                    && group.delimiter() == Delimiter::Bracket
                {
                    let inside = group.stream();
                    if inside.to_string().starts_with("cfg") {
                        essence(inside, text);
                    }
                    tokens.next();
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ',' => {}
            TokenTree::Punct(punct) => text.push(punct.as_char()),
            TokenTree::Literal(literal) => {
                let literal = literal.to_string();
                text.push_str(if literal.contains('"') { "\"\"" } else { &literal });
                text.push(' ');
            }
            TokenTree::Ident(ident) => {
                text.push_str(&ident.to_string());
                text.push(' ');
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ('(', ')'),
                    Delimiter::Bracket => ('[', ']'),
                    Delimiter::Brace | Delimiter::None => ('{', '}'),
                };
                text.push(open);
                essence(group.stream(), text);
                text.push(close);
            }
        }
    }
}

fn hash(item: &impl ToTokens) -> String {
    let mut text = String::new();
    essence(item.to_token_stream(), &mut text);
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("cfg") && attribute.to_token_stream().to_string().contains("test"))
}

/// Functions and numeric constants of a source text, by name (`Type::function` inside of an impl or a trait), with their hashes. Functions of
/// one name in several impls of a type have one hash together.
fn items(source: &str) -> BTreeMap<String, String> {
    let file = syn::parse_file(source).expect("Rust");
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut add = |name: String, hash: String| found.entry(name).or_default().push(hash);
    for item in &file.items {
        match item {
            Item::Fn(function) if !is_test(&function.attrs) => add(function.sig.ident.to_string(), hash(function)),
            // What `vectorised!` defines; the call of a structure has no name of its own.
            Item::Macro(item) if item.mac.path.is_ident("vectorised") => {
                if let Ok(function) = syn::parse2::<syn::ItemFn>(item.mac.tokens.clone())
                    && function.sig.ident != "call"
                {
                    add(function.sig.ident.to_string(), hash(&function));
                }
            }
            Item::Const(constant) if constant.expr.to_token_stream().to_string().chars().all(|c| c != '"') => {
                add(constant.ident.to_string(), hash(constant));
            }
            Item::Impl(block) if !is_test(&block.attrs) => {
                let of = block.self_ty.to_token_stream().to_string().replace(' ', "");
                for member in &block.items {
                    if let ImplItem::Fn(function) = member {
                        add(format!("{of}::{}", function.sig.ident), hash(function));
                    }
                }
            }
            Item::Trait(block) => {
                for member in &block.items {
                    if let TraitItem::Fn(function) = member
                        && function.default.is_some()
                    {
                        add(format!("{}::{}", block.ident, function.sig.ident), hash(function));
                    }
                }
            }
            _ => {}
        }
    }
    let one = |hashes: Vec<String>| match hashes.as_slice() {
        [hash] => hash.clone(),
        many => Sha256::digest(many.join(" ").as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect(),
    };
    found.into_iter().map(|(name, hashes)| (name, one(hashes))).collect()
}

fn is_unpinned(name: &str) -> bool {
    UNPINNED.contains(&name.rsplit("::").next().unwrap_or(name))
}

/// The pins of a proof: file, item, hash.
fn pins(proof: &str) -> Vec<(String, String, String)> {
    let (_, block) = proof.split_once(START).expect("a block of pins");
    let (block, _) = block.split_once("```").expect("its end");
    let mut file = String::new();
    let mut found = Vec::new();
    for line in block.lines() {
        match line.strip_prefix("  ") {
            None => file = line.trim().to_owned(),
            Some(pin) => {
                let (item, hash) = pin.rsplit_once(' ').expect("an item and its hash");
                found.push((file.clone(), item.trim().to_owned(), hash.to_owned()));
            }
        }
    }
    found
}

fn proofs() -> Vec<PathBuf> {
    let folder = root().join("docs/proofs");
    let mut found: Vec<PathBuf> = fs::read_dir(folder).expect("proofs").map(|entry| entry.expect("an entry").path()).collect();
    found.sort();
    found
}

/// The block with present hashes: every known item that is still there, and all new ones of its files.
fn renewed(proof: &str) -> String {
    let (before, block) = proof.split_once(START).expect("a block of pins");
    let (block, after) = block.split_once("```").expect("its end");
    let mut text = format!("{before}{START}");
    for file in block.lines().filter(|line| !line.starts_with(' ')) {
        text += &format!("{file}\n");
        for (name, hash) in items(&fs::read_to_string(root().join(file)).expect("a pinned file")) {
            if !is_unpinned(&name) {
                text += &format!("  {name} {hash}\n");
            }
        }
    }
    format!("{text}```{after}")
}

#[test]
fn proofs_are_about_the_present_code() {
    let mut stale = Vec::new();
    for path in proofs() {
        let proof = fs::read_to_string(&path).expect("a proof");
        if std::env::var_os("PRIVATEER_UPDATE").is_some() {
            fs::write(&path, renewed(&proof)).expect("docs is writable");
            continue;
        }
        let pinned = pins(&proof);
        let files: BTreeSet<&str> = pinned.iter().map(|(file, ..)| file.as_str()).collect();
        let page = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for file in files {
            let present = items(&fs::read_to_string(root().join(file)).expect("a pinned file"));
            let known: BTreeMap<&str, &str> =
                pinned.iter().filter(|(of, ..)| of == file).map(|(_, item, hash)| (item.as_str(), hash.as_str())).collect();
            for (name, hash) in &present {
                match known.get(name.as_str()) {
                    None if !is_unpinned(name) => stale.push(format!("{page}: `{name}` of {file} is new")),
                    Some(known) if known != hash => stale.push(format!("{page}: `{name}` of {file} changed")),
                    _ => {}
                }
            }
            let gone = known.keys().filter(|name| !present.contains_key(**name));
            stale.extend(gone.map(|name| format!("{page}: `{name}` of {file} is gone")));
        }
    }
    assert!(
        stale.is_empty(),
        "re-read these proofs against the code, then run `PRIVATEER_UPDATE=1 cargo test pins`:\n{}",
        stale.join("\n")
    );
}

#[test]
fn pins_see_formulas_and_not_prose() {
    let before = "/// Doc.\n#[must_use]\npub fn scale(a: f64, b: f64) -> f64 {\n    // Why.\n    2.0 * a / b\n}\nimpl S { fn f(&self) -> &str { \"old\" } }";
    let after = "/// Other words.\npub fn scale(\n    a: f64,\n    b: f64,\n) -> f64 {\n    2.0 * a / b // as printed\n}\nimpl S { fn f(&self) -> &str { \"new\" } }";
    assert_eq!(items(before), items(after));
    for planted in [before.replace("2.0 * a", "1.0 * a"), before.replace("a / b", "a * b"), before.replace("&self", "&mut self")]
    {
        assert_ne!(items(before), items(&planted), "{planted}");
    }
    assert_eq!(items("#[cfg(test)]\nfn hidden() {}\nconst NAME: &str = \"x\";\nconst STEP: f64 = 1.0;").len(), 1);
}

/// Every file that held a pin by its whole text is pinned still.
#[test]
fn proofs_cover_the_mechanisms() {
    let pinned: BTreeSet<String> =
        proofs().iter().flat_map(|path| pins(&fs::read_to_string(path).expect("a proof"))).map(|(file, ..)| file).collect();
    let folders = ["mechanism", "noise", "release", "streams", "sums", "gradients", "interactions", "accounting", "odometer"];
    let mut missing = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(root().join("crates/privacy/src").join(folder)).expect("a room") {
            let path = entry.expect("an entry").path();
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let file = format!("crates/privacy/src/{folder}/{stem}.rs");
            let is_source = Path::new(&file).extension().is_some() && !stem.ends_with("tests");
            if is_source && !UNPROVED.contains(&stem.as_str()) && !pinned.contains(&file) {
                missing.push(file);
            }
        }
    }
    for file in ["event", "gram"].map(|stem| format!("crates/privacy/src/{stem}.rs")) {
        if !pinned.contains(&file) {
            missing.push(file);
        }
    }
    assert!(missing.is_empty(), "no proof pins {missing:?}");
}
