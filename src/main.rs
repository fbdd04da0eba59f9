//! The `privateer` command. Everything is in the library.

fn main() -> std::process::ExitCode {
    privateer::cli::main(std::env::args_os()).into()
}
