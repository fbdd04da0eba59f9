//! The program without the GPU backend, which nothing else builds: `.ci/run` asks it for a device.

fn main() -> std::process::ExitCode {
    privateer::cli::main(std::env::args_os()).into()
}
