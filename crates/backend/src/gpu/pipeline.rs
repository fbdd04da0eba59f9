//! Shaders as the build checked them, and pipelines made of them.

use super::device::GpuShared;
use super::readback::guarded;
use crate::device::Precision;
use crate::device::tables::device_error;
use privateer_config::error::Error;

include!(concat!(env!("OUT_DIR"), "/shaders.rs"));

/// A shader in one type.
#[derive(Debug)]
pub struct Shader {
    /// Its name: that of the file.
    pub name: &'static str,
    /// The type it computes in.
    pub real: &'static str,
    /// The type of a table that it makes.
    pub out: &'static str,
    /// How it reduces over a workgroup: "shared" or "subgroups"; empty where it does not.
    pub reduction: &'static str,
    /// WGSL before the constants of the workgroup's size, and after.
    pub head: &'static str,
    /// See `head`.
    pub body: &'static str,
    /// Entries.
    pub entries: &'static [Entry],
}

/// An entry of a shader.
#[derive(Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Bytes that a workgroup shares, by its size.
    pub shared: &'static [u32],
    /// The buffers it uses.
    pub bindings: &'static [Binding],
}

/// A buffer of an entry.
#[derive(Debug)]
pub struct Binding {
    /// Its name in the shader.
    pub name: &'static str,
    /// Its number.
    pub number: u32,
    /// How it is used.
    pub access: Access,
}

/// A size of a workgroup.
#[derive(Debug)]
pub struct Size {
    /// The square root of its threads.
    pub side: u32,
    /// WGSL that says so.
    pub constants: &'static str,
}

/// How a shader uses a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Uniform.
    Uniform,
    /// Storage that is read.
    Read,
    /// Storage that is written.
    ReadWrite,
}

/// A struct of the shaders.
#[cfg(test)]
pub struct Struct {
    /// Its name.
    pub name: &'static str,
    /// The type that the shader computes in.
    pub real: &'static str,
    /// Bytes.
    pub size: u32,
    /// Fields and their offsets in bytes.
    pub fields: &'static [(&'static str, u32)],
}

/// An entry of a shader: shader, entry, type computed in, type of a table made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pass {
    shader: &'static str,
    entry: &'static str,
    precision: Precision,
    real: &'static str,
    out: &'static str,
}

/// The name of a type in WGSL.
pub fn type_name(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "f32",
        Precision::F64 => "f64",
    }
}

impl Pass {
    /// Of a round.
    pub fn new(shader: &'static str, entry: &'static str, precision: Precision) -> Self {
        Self { shader, entry, precision, real: type_name(precision), out: type_name(precision) }
    }

    /// The type it computes in.
    pub fn precision(self) -> Precision {
        self.precision
    }

    /// One that makes a table: computed in `real`, written as `out`.
    pub fn making(shader: &'static str, real: Precision, out: Precision) -> Self {
        Self { shader, entry: shader, precision: real, real: type_name(real), out: type_name(out) }
    }
}

/// An entry ready to run.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// What wgpu runs.
    pub pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    bindings: &'static [Binding],
}

impl Pipeline {
    /// Compiles an entry.
    ///
    /// # Errors
    /// If there is no such entry, or the driver refuses it.
    pub fn new(shared: &GpuShared, pass: Pass) -> Result<Self, Error> {
        let reduction = if shared.subgroups { "subgroups" } else { "shared" };
        let found = SHADERS
            .iter()
            .filter(|shader| ["", reduction].contains(&shader.reduction))
            .find(|shader| (shader.name, shader.real, shader.out) == (pass.shader, pass.real, pass.out))
            .and_then(|shader| Some((shader, shader.entries.iter().find(|entry| entry.name == pass.entry)?)));
        let Some((shader, entry)) = found else {
            return Err(device_error(format!("there is no shader {pass:?}")));
        };
        let size = shared.workgroup(pass.precision)?;
        let mut text = [shader.head, size.constants(), shader.body].concat();
        for replacement in shared.replacements.iter().filter(|replacement| replacement.shader == shader.name) {
            if !text.contains(replacement.from) {
                return Err(device_error(format!("shader {} holds no `{}` to replace", shader.name, replacement.from)));
            }
            text = text.replace(replacement.from, replacement.to);
        }
        guarded(shared, &format!("compile the shader {}", shader.name), |device| {
            let entries: Vec<wgpu::BindGroupLayoutEntry> = entry
                .bindings
                .iter()
                .map(|binding| wgpu::BindGroupLayoutEntry {
                    binding: binding.number,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::Buffer {
                        ty: match binding.access {
                            Access::Uniform => wgpu::BufferBindingType::Uniform,
                            Access::Read => wgpu::BufferBindingType::Storage { read_only: true },
                            Access::ReadWrite => wgpu::BufferBindingType::Storage { read_only: false },
                        },
                        has_dynamic_offset: false,
                        min_binding_size: None,
                    },
                    count: None,
                })
                .collect();
            let descriptor = wgpu::BindGroupLayoutDescriptor { label: Some(entry.name), entries: &entries };
            let layout = device.create_bind_group_layout(&descriptor);
            let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some(entry.name),
                bind_group_layouts: &[Some(&layout)],
                immediate_size: 0,
            });
            let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(shader.name),
                source: wgpu::ShaderSource::Wgsl(text.into()),
            });
            let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(entry.name),
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some(entry.name),
                // Every pass writes what it reads of a workgroup's memory.
                compilation_options: wgpu::PipelineCompilationOptions { constants: &[], zero_initialize_workgroup_memory: false },
                cache: None,
            });
            Self { pipeline, layout, bindings: entry.bindings }
        })
    }

    /// Binds buffers by number.
    ///
    /// # Errors
    /// If one is missing, or the device refuses.
    pub fn bind(&self, shared: &GpuShared, buffers: &[(u32, &wgpu::Buffer)]) -> Result<wgpu::BindGroup, Error> {
        let mut entries = Vec::with_capacity(self.bindings.len());
        for binding in self.bindings {
            let Some((_, buffer)) = buffers.iter().find(|(number, _)| *number == binding.number) else {
                return Err(device_error(format!("no buffer was given for `{}`", binding.name)));
            };
            entries.push(wgpu::BindGroupEntry { binding: binding.number, resource: buffer.as_entire_binding() });
        }
        guarded(shared, "bind buffers", |device| {
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &self.layout, entries: &entries })
        })
    }
}
