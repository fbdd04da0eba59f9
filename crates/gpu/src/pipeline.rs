//! Holds the shaders that the build checked, and compiles pipelines from them.

use super::device::GpuShared;
use super::readback::guarded;
use privateer_backend::BackendError;
use privateer_backend::device::Precision;

include!(concat!(env!("OUT_DIR"), "/shaders.rs"));

/// A shader in one floating-point type.
#[derive(Debug)]
pub struct Shader {
    pub name: &'static str,
    pub real: Precision,
    /// Type of the table that it writes.
    pub out: Precision,
    /// Reduction over a workgroup: "shared", "subgroups", or empty without one.
    pub reduction: &'static str,
    /// WGSL before and after (`body`) the constants of the workgroup size.
    pub head: &'static str,
    /// See `head`.
    pub body: &'static str,
    pub entries: &'static [Entry],
}

#[derive(Debug)]
pub struct Entry {
    pub name: &'static str,
    /// Shared bytes of a workgroup, by workgroup size.
    pub shared: &'static [u32],
    /// Buffers that it uses.
    pub bindings: &'static [Binding],
}

/// A buffer of an entry point.
#[derive(Debug)]
pub struct Binding {
    pub name: &'static str,
    pub number: u32,
}

#[derive(Debug)]
pub struct Size {
    /// Square root of the number of threads.
    pub side: u32,
    pub constants: &'static str,
}

/// Layout of a struct in the shaders.
#[cfg(test)]
pub struct Struct {
    pub name: &'static str,
    /// Type in which the shader computes.
    pub real: Precision,
    pub size: u32,
    /// Fields with their offsets in bytes.
    pub fields: &'static [(&'static str, u32)],
}

/// An entry point of a shader in a type; `real` is computed in, `out` is written to a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pass {
    shader: &'static str,
    entry: &'static str,
    pub real: Precision,
    out: Precision,
}

impl Pass {
    pub fn new(shader: &'static str, entry: &'static str, precision: Precision) -> Self {
        Self { shader, entry, real: precision, out: precision }
    }

    /// Returns a pass that writes a table: computed in `real`, written as `out`.
    pub fn making(shader: &'static str, real: Precision, out: Precision) -> Self {
        Self { shader, entry: shader, real, out }
    }
}

/// An entry point ready to run.
#[derive(Debug, Clone)]
pub struct Pipeline {
    pub pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    bindings: &'static [Binding],
}

impl Pipeline {
    /// Compiles an entry point.
    pub fn new(shared: &GpuShared, pass: Pass) -> Result<Self, BackendError> {
        let reduction = if shared.subgroups { "subgroups" } else { "shared" };
        let found = SHADERS
            .iter()
            .filter(|shader| ["", reduction].contains(&shader.reduction))
            .find(|shader| (shader.name, shader.real, shader.out) == (pass.shader, pass.real, pass.out))
            .and_then(|shader| Some((shader, shader.entries.iter().find(|entry| entry.name == pass.entry)?)));
        let Some((shader, entry)) = found else {
            return Err(BackendError::unsuitable(format!("there is no shader {pass:?}")));
        };
        let size = shared.workgroup(pass.real)?;
        let mut text = [shader.head, size.constants(), shader.body].concat();
        for replacement in shared.replacements.iter().filter(|replacement| replacement.shader == shader.name) {
            if !text.contains(replacement.from) {
                return Err(BackendError::unsuitable(format!(
                    "shader {} holds no `{}` to replace",
                    shader.name, replacement.from
                )));
            }
            text = text.replace(replacement.from, replacement.to);
        }
        guarded(shared, &format!("compile the shader {}", shader.name), |device| {
            let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(shader.name),
                source: wgpu::ShaderSource::Wgsl(text.into()),
            });
            let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(entry.name),
                layout: None,
                module: &module,
                entry_point: Some(entry.name),
                // Every pass writes workgroup memory before it reads it.
                compilation_options: wgpu::PipelineCompilationOptions { constants: &[], zero_initialize_workgroup_memory: false },
                cache: None,
            });
            Self { layout: pipeline.get_bind_group_layout(0), pipeline, bindings: entry.bindings }
        })
    }

    pub fn bind(&self, shared: &GpuShared, buffers: &[(u32, &wgpu::Buffer)]) -> Result<wgpu::BindGroup, BackendError> {
        let mut entries = Vec::with_capacity(self.bindings.len());
        for binding in self.bindings {
            let Some((_, buffer)) = buffers.iter().find(|(number, _)| *number == binding.number) else {
                return Err(BackendError::lost(format!("no buffer was given for `{}`", binding.name)));
            };
            entries.push(wgpu::BindGroupEntry { binding: binding.number, resource: buffer.as_entire_binding() });
        }
        guarded(shared, "bind buffers", |device| {
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &self.layout, entries: &entries })
        })
    }
}
