//! Checks every shader, in both types, and writes down what the host must know of it: its text, the buffers that each entry
//! binds, workgroup sizes, offsets of the structs. A bad shader stops the build. Does nothing without the feature `gpu`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "gpu")]
    if let Err(problem) = gpu::run() {
        println!("cargo::error={}", problem.lines().next().unwrap_or(""));
        eprintln!("{problem}");
        std::process::exit(1);
    }
}

#[cfg(feature = "gpu")]
mod gpu {
    use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
    use naga::{AddressSpace, Module, Span, StorageAccess, TypeInner};
    use std::fmt::Write as _;
    use std::path::Path;
    use std::{env, fs};

    /// A shader: its name, the pieces put together after the types, and the types (computed in, written) it exists in.
    struct Shader {
        name: &'static str,
        pieces: &'static [&'static str],
        types: &'static [(&'static str, &'static str)],
    }

    const BOTH: &[(&str, &str)] = &[("f32", "f32"), ("f64", "f64")];

    const SHADERS: [Shader; 9] = [
        Shader { name: "arithmetic", pieces: &["common", "arithmetic"], types: BOTH },
        Shader { name: "product", pieces: &["common", "product"], types: BOTH },
        Shader { name: "gram", pieces: &["common", "gram"], types: &[("f32", "f32"), ("f64", "f32"), ("f64", "f64")] },
        Shader { name: "features", pieces: &["common", "features"], types: &[("f64", "f32"), ("f64", "f64")] },
        Shader { name: "project", pieces: &["common", "project"], types: BOTH },
        Shader { name: "factor", pieces: &["common", "factor"], types: BOTH },
        Shader { name: "update", pieces: &["common", "reduce", "update"], types: BOTH },
        Shader { name: "list", pieces: &["common", "reduce", "list"], types: BOTH },
        Shader { name: "select", pieces: &["common", "reduce", "select"], types: BOTH },
    ];

    /// Pieces of a shader's text, with the file each comes from.
    struct Text {
        whole: String,
        pieces: Vec<(String, usize)>,
    }

    impl Text {
        fn of(shader: &Shader, real: &str, out: &str) -> Result<Self, String> {
            let mut text = Self { whole: String::new(), pieces: Vec::new() };
            for piece in std::iter::once(format!("types_{real}").as_str()).chain(shader.pieces.iter().copied()) {
                let path = format!("shaders/{piece}.wgsl");
                let piece = fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
                text.pieces.push((path, text.whole.len()));
                text.whole.push_str(&piece);
                if text.pieces.len() == 1 {
                    text.whole.push_str(&format!("alias Out = {out};\n"));
                }
            }
            Ok(text)
        }

        /// File and line of a place in the text.
        fn place(&self, span: Option<Span>) -> String {
            let Some(at) = span.and_then(Span::to_range).map(|range| range.start) else {
                return self.pieces.last().map_or_else(String::new, |piece| piece.0.clone());
            };
            let Some((path, first)) = self.pieces.iter().rev().find(|piece| piece.1 <= at) else { return String::new() };
            format!("{path}:{}", 1 + self.whole[*first..at].matches('\n').count())
        }
    }

    /// Parses and validates.
    fn checked(text: &Text, types: &str) -> Result<(Module, ModuleInfo), String> {
        let module = naga::front::wgsl::parse_str(&text.whole).map_err(|error| {
            let place = text.place(error.labels().next().map(|label| label.0));
            format!("{place}: {} ({types})\n{}", error.message(), error.emit_to_string(&text.whole))
        })?;
        let mut validator = Validator::new(ValidationFlags::all(), Capabilities::FLOAT64);
        let info = validator.validate(&module).map_err(|error| {
            let place = text.place(error.spans().next().map(|span| span.0));
            format!("{place}: {} ({types})\n{}", error.as_inner(), error.emit_to_string(&text.whole))
        })?;
        Ok((module, info))
    }

    /// The entries of a shader as Rust; adds their workgroups.
    fn entries(module: &Module, info: &ModuleInfo, workgroups: &mut String) -> Result<String, String> {
        let mut text = String::new();
        for (at, entry) in module.entry_points.iter().enumerate() {
            let mut bindings = String::new();
            for (handle, variable) in module.global_variables.iter() {
                if info.get_entry_point(at)[handle].is_empty() {
                    continue;
                }
                let Some(binding) = variable.binding else { continue };
                if binding.group != 0 {
                    return Err(format!("entry {} binds outside of group 0", entry.name));
                }
                let access = match variable.space {
                    AddressSpace::Uniform => "Uniform",
                    AddressSpace::Storage { access } if access.contains(StorageAccess::STORE) => "ReadWrite",
                    AddressSpace::Storage { .. } => "Read",
                    _ => return Err(format!("entry {} binds what is no buffer", entry.name)),
                };
                let name = variable.name.as_deref().unwrap_or("");
                write!(bindings, "Binding {{ name: {name:?}, number: {}, access: Access::{access} }}, ", binding.binding)
                    .map_err(|error| error.to_string())?;
            }
            writeln!(text, "        Entry {{ name: {:?}, bindings: &[{bindings}] }},", entry.name)
                .map_err(|error| error.to_string())?;
            writeln!(workgroups, "    ({:?}, {:?}),", entry.name, entry.workgroup_size).map_err(|error| error.to_string())?;
        }
        Ok(text)
    }

    /// The structs that reach the host, as Rust.
    fn structs(module: &Module, real: &str) -> Result<String, String> {
        let mut text = String::new();
        for (_, kind) in module.types.iter() {
            let (Some(name), TypeInner::Struct { members, span }) = (&kind.name, &kind.inner) else { continue };
            if !["Shape", "Work", "Numbers"].contains(&name.as_str()) {
                continue;
            }
            let fields: String = members
                .iter()
                .map(|member| format!("({:?}, {}), ", member.name.as_deref().unwrap_or(""), member.offset))
                .collect();
            writeln!(text, "    Struct {{ name: {name:?}, real: {real:?}, size: {span}, fields: &[{fields}] }},")
                .map_err(|error| error.to_string())?;
        }
        Ok(text)
    }

    /// Checks all shaders and writes `shaders.rs`.
    pub fn run() -> Result<(), String> {
        println!("cargo::rerun-if-changed=shaders");
        let mut shaders = String::from("/// Every shader in every type.\npub const SHADERS: &[Shader] = &[\n");
        let mut workgroups =
            String::from("/// Entries and their workgroups.\n#[cfg(test)]\npub const WORKGROUPS: &[(&str, [u32; 3])] = &[\n");
        let mut layouts = String::from("/// Structs that the host fills.\n#[cfg(test)]\npub const STRUCTS: &[Struct] = &[\n");
        for shader in &SHADERS {
            for (real, out) in shader.types {
                let text = Text::of(shader, real, out)?;
                let (module, info) = checked(&text, &format!("computing in {real}, writing {out}"))?;
                let entries = entries(&module, &info, &mut workgroups)?;
                writeln!(
                    shaders,
                    "    Shader {{ name: {:?}, real: {real:?}, out: {out:?}, text: {:?}, entries: &[\n{entries}    ] }},",
                    shader.name, text.whole
                )
                .map_err(|error| error.to_string())?;
                if shader.name == "update" {
                    layouts.push_str(&structs(&module, real)?);
                }
            }
        }
        let folder = env::var("OUT_DIR").map_err(|error| error.to_string())?;
        let path = Path::new(&folder).join("shaders.rs");
        fs::write(&path, format!("{shaders}];\n\n{workgroups}];\n\n{layouts}];\n"))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}
