//! Checks every shader and records its layout for the host; does nothing without feature `wgpu`.
//!
//! Checks cover both types, every workgroup size, with and without subgroups. The record holds each shader's text, the
//! buffers that each entry point binds, the shared memory of its workgroups, and offsets of the structs. An invalid shader
//! stops the build.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "wgpu")]
    if let Err(problem) = gpu::run().map_err(|problem| problem.to_string()) {
        println!("cargo::error={}", problem.lines().next().unwrap_or(""));
        eprintln!("{problem}");
        std::process::exit(1);
    }
}

#[cfg(feature = "wgpu")]
mod gpu {
    use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
    use naga::{AddressSpace, Module, Span, TypeInner};
    use std::error::Error;
    use std::fmt::{self, Write as _};
    use std::path::Path;
    use std::{env, fs};

    /// A shader: its name and that of its file, and the types (computed, written) of its versions.
    struct Shader {
        name: &'static str,
        types: &'static [(&'static str, &'static str)],
        /// Whether it uses a reduction, and therefore exists in two forms.
        reduces: bool,
    }

    /// Pieces of text that one shader alone has before its own.
    fn before(shader: &str) -> &'static [&'static str] {
        if shader == "trial" { &["trial_state"] } else { &[] }
    }

    /// Square roots of workgroup sizes: WebGPU guarantees 256 threads on every adapter, Vulkan 128.
    const SIDES: [u32; 3] = [16, 8, 4];

    /// Pieces of text of each reduction, by name.
    const REDUCTIONS: [(&str, &[&str]); 2] = [("shared", &["reduce", "scored"]), ("subgroups", &["reduce_subgroups", "scored"])];

    /// Returns the text that sets the workgroup size.
    fn constants(side: u32) -> String {
        format!("const THREADS: u32 = {}u;\nconst SIDE: u32 = {side}u;\n", side * side)
    }

    const BOTH: &[(&str, &str)] = &[("f32", "f32"), ("f64", "f64")];

    const SHADERS: [Shader; 12] = [
        Shader { name: "arithmetic", types: BOTH, reduces: false },
        Shader { name: "product", types: BOTH, reduces: false },
        Shader { name: "gram", types: &[("f32", "f32"), ("f64", "f32"), ("f64", "f64")], reduces: false },
        Shader { name: "features", types: &[("f64", "f32"), ("f64", "f64")], reduces: false },
        Shader { name: "project", types: BOTH, reduces: false },
        Shader { name: "factor", types: BOTH, reduces: false },
        Shader { name: "reduction", types: BOTH, reduces: true },
        Shader { name: "update", types: BOTH, reduces: true },
        Shader { name: "list", types: BOTH, reduces: true },
        Shader { name: "select", types: BOTH, reduces: true },
        Shader { name: "functions", types: &[("f64", "f64")], reduces: false },
        Shader { name: "trial", types: &[("f64", "f64")], reduces: false },
    ];

    /// Pieces of a shader's text, with the file of each; the size constants go in at `sizes_at`.
    struct Text {
        whole: String,
        pieces: Vec<(String, usize)>,
        sizes_at: usize,
    }

    impl Text {
        fn of(shader: &Shader, real: &str, out: &str, reduction: &[&str], sizes: &str) -> Result<Self, String> {
            let mut text = Self { whole: String::new(), pieces: Vec::new(), sizes_at: 0 };
            let types = format!("types_{real}");
            let pieces = [types.as_str(), "common"].into_iter().chain(reduction.iter().copied());
            for piece in pieces.chain(before(shader.name).iter().copied()).chain([shader.name]) {
                let path = format!("shaders/{piece}.wgsl");
                let piece = fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
                text.pieces.push((path, text.whole.len()));
                text.whole.push_str(&piece);
                if text.pieces.len() == 1 {
                    text.whole.push_str(&format!("alias Out = {out};\n"));
                    text.sizes_at = text.whole.len();
                    text.whole.push_str(sizes);
                }
            }
            Ok(text)
        }

        /// Returns file and line of a position in the text.
        fn place(&self, span: Option<Span>) -> String {
            let Some(at) = span.and_then(Span::to_range).map(|range| range.start) else {
                return self.pieces.last().map_or_else(String::new, |piece| piece.0.clone());
            };
            let Some((path, first)) = self.pieces.iter().rev().find(|piece| piece.1 <= at) else { return String::new() };
            format!("{path}:{}", 1 + self.whole[*first..at].matches('\n').count())
        }
    }

    /// Parses and validates a shader.
    fn checked(text: &Text, types: &str) -> Result<(Module, ModuleInfo), String> {
        let module = naga::front::wgsl::parse_str(&text.whole).map_err(|error| {
            let place = text.place(error.labels().next().map(|label| label.0));
            format!("{place}: {} ({types})\n{}", error.message(), error.emit_to_string(&text.whole))
        })?;
        let mut validator = Validator::new(ValidationFlags::all(), Capabilities::FLOAT64 | Capabilities::SUBGROUP);
        let info = validator.validate(&module).map_err(|error| {
            let place = text.place(error.spans().next().map(|span| span.0));
            format!("{place}: {} ({types})\n{}", error.as_inner(), error.emit_to_string(&text.whole))
        })?;
        Ok((module, info))
    }

    /// Returns the shared bytes of an entry point's workgroups.
    fn shared_bytes(module: &Module, info: &ModuleInfo, at: usize) -> u32 {
        let used = module.global_variables.iter().filter(|(handle, variable)| {
            variable.space == AddressSpace::WorkGroup && !info.get_entry_point(at)[*handle].is_empty()
        });
        // Each variable starts at a multiple of at most 16.
        used.map(|(_, variable)| module.types[variable.ty].inner.size(module.to_ctx()).next_multiple_of(16)).sum()
    }

    /// Returns a shader's entry points as Rust; `shared` holds bytes by workgroup size and entry.
    fn entries(module: &Module, info: &ModuleInfo, shared: &[Vec<u32>]) -> Result<String, Box<dyn Error>> {
        let mut text = String::new();
        for (at, entry) in module.entry_points.iter().enumerate() {
            let mut bindings = String::new();
            for (handle, variable) in module.global_variables.iter() {
                if info.get_entry_point(at)[handle].is_empty() {
                    continue;
                }
                let Some(binding) = variable.binding else { continue };
                if binding.group != 0 {
                    return Err(format!("entry {} binds outside of group 0", entry.name).into());
                }
                let name = variable.name.as_deref().unwrap_or("");
                write!(bindings, "Binding {{ name: {name:?}, number: {} }}, ", binding.binding)?;
            }
            let shared: Vec<u32> = shared.iter().map(|entries| entries[at]).collect();
            writeln!(text, "        Entry {{ name: {:?}, shared: &{shared:?}, bindings: &[{bindings}] }},", entry.name)?;
        }
        Ok(text)
    }

    /// Returns a type in the words of the host.
    fn precision(real: &str) -> String {
        format!("Precision::{}", real.to_uppercase())
    }

    /// Returns the structs that the host fills, as Rust.
    fn structs(module: &Module, real: &str) -> Result<String, fmt::Error> {
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
            writeln!(text, "    Struct {{ name: {name:?}, real: {}, size: {span}, fields: &[{fields}] }},", precision(real))?;
        }
        Ok(text)
    }

    /// Checks all shaders and writes `shaders.rs`.
    pub fn run() -> Result<(), Box<dyn Error>> {
        println!("cargo::rerun-if-changed=shaders");
        let mut shaders = String::from("/// Every shader in every type.\npub const SHADERS: &[Shader] = &[\n");
        let mut layouts = String::from("/// Structs that the host fills.\n#[cfg(test)]\npub const STRUCTS: &[Struct] = &[\n");
        let one: &[(&str, &[&str])] = &[("", &[])];
        for shader in &SHADERS {
            let reductions = if shader.reduces { &REDUCTIONS[..] } else { one };
            for ((real, out), (reduction, pieces)) in
                shader.types.iter().flat_map(|types| reductions.iter().map(move |reduction| (*types, *reduction)))
            {
                let (mut largest, mut shared) = (None, Vec::new());
                for side in SIDES {
                    let text = Text::of(shader, real, out, pieces, &constants(side))?;
                    let what = format!("computing in {real}, writing {out}, {} threads, {reduction}", side * side);
                    let (module, info) = checked(&text, &what)?;
                    if module.entry_points.iter().any(|entry| entry.workgroup_size != [side * side, 1, 1]) {
                        return Err(format!("an entry of {} does not have THREADS threads", shader.name).into());
                    }
                    shared.push((0..module.entry_points.len()).map(|at| shared_bytes(&module, &info, at)).collect());
                    largest.get_or_insert((module, info));
                }
                let Some((module, info)) = largest else { continue };
                let entries = entries(&module, &info, &shared)?;
                let text = Text::of(shader, real, out, pieces, "")?;
                let (head, body) = text.whole.split_at(text.sizes_at);
                writeln!(
                    shaders,
                    "    Shader {{ name: {:?}, real: {}, out: {}, reduction: {reduction:?}, head: {head:?}, \
                     body: {body:?}, entries: &[\n{entries}    ] }},",
                    shader.name,
                    precision(real),
                    precision(out)
                )?;
                if shader.name == "update" && reduction == REDUCTIONS[0].0 {
                    layouts.push_str(&structs(&module, real)?);
                }
            }
        }
        let mut sizes = String::from("/// Sizes of workgroups, the largest first.\npub const SIZES: &[Size] = &[\n");
        for side in SIDES {
            writeln!(sizes, "    Size {{ side: {side}, constants: {:?} }},", constants(side))?;
        }
        let folder = env::var("OUT_DIR")?;
        let path = Path::new(&folder).join("shaders.rs");
        fs::write(&path, format!("{shaders}];\n\n{sizes}];\n\n{layouts}];\n"))
            .map_err(|error| format!("cannot write {}: {error}", path.display()).into())
    }
}
