//! Ties each proof to the functions and constants that it is about.
//!
//! The last part of every page under `docs/proofs` is a block of pins: a source file, then one line an item with a hash of its code. Comments,
//! documentation, texts between quotes and layout do not count, so that prose changes without breaking a pin; a changed formula breaks it. Every
//! function and numeric constant of a pinned file stands in some block, but for the names in `UNPINNED`.

use crate::program::{difference, listed, page, root};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use syn::{ImplItem, Item, TraitItem};

/// Functions that no proof rests on: they make sentences.
const UNPINNED: [&str; 3] = ["fmt", "words", "name"];

/// Files of the privacy room's folders that no page is about: contracts, requests and results without formulas, mechanisms without privacy,
/// and helpers that other tests compare.
const UNPROVED: [&str; 23] = [
    "channel",
    "contract",
    "blt_fit",
    "minimise",
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
    "running",
    "transform",
    "zcdp",
];

const START: &str = "```pins\n";

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

/// What precedes the pins of a proof, the pins, and what follows them.
fn parts(proof: &str) -> (&str, &str, &str) {
    let (before, block) = proof.split_once(START).expect("a block of pins");
    let (block, after) = block.split_once("```").expect("its end");
    (before, block, after)
}

/// The block with present hashes: every known item that is still there, and all new ones of its files.
fn renewed(proof: &str) -> String {
    let (before, block, after) = parts(proof);
    let mut text = format!("{before}{START}");
    for file in block.lines().filter(|line| !line.starts_with(' ')) {
        text += &format!("{file}\n");
        for (name, hash) in items(&page(file)).iter().filter(|(name, _)| !is_unpinned(name)) {
            text += &format!("  {name} {hash}\n");
        }
    }
    format!("{text}```{after}")
}

/// The texts of all proofs, by their paths.
fn proofs() -> Vec<(PathBuf, String)> {
    listed(&root().join("docs/proofs")).into_iter().map(|path| (path.clone(), page(&path.to_string_lossy()))).collect()
}

#[test]
fn proofs_are_about_the_present_code() {
    let stale: Vec<String> = proofs().iter().filter_map(|(path, proof)| difference(path, &renewed(proof))).collect();
    assert!(stale.is_empty(), "re-read these proofs against the code, then accept their pins:\n{}", stale.join("\n"));
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
    let mut pinned = BTreeSet::new();
    for (_, proof) in proofs() {
        let mut file = "";
        for line in parts(&proof).1.lines() {
            if line.starts_with(' ') {
                pinned.insert(file.to_owned());
            } else {
                file = line;
            }
        }
    }
    let folders = ["mechanism", "noise", "release", "streams", "sums", "gradients", "interactions", "accounting", "odometer"];
    let stem = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let is_proved = |stem: &String| !stem.ends_with("tests") && !UNPROVED.contains(&stem.as_str());
    let shared = ["event", "gram", "memo", "calibration", "request", "refusal"];
    let mut missing: Vec<String> = shared.map(|file| format!("crates/privacy/src/{file}.rs")).into();
    for folder in folders.map(|folder| format!("crates/privacy/src/{folder}")) {
        let stems = listed(&root().join(&folder)).iter().map(stem).filter(is_proved).collect::<Vec<_>>();
        missing.extend(stems.iter().map(|stem| format!("{folder}/{stem}.rs")));
    }
    missing.retain(|file| !pinned.contains(file));
    assert!(missing.is_empty(), "no proof pins {missing:?}");
}
