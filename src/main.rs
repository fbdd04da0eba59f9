//! The `privateer` command. Everything is in the library.

/// Small runs and many cells spend a third of their time in the allocator of the C library.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    privateer::cli::main(std::env::args_os()).into()
}
