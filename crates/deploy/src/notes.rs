//! Tells the caller what it should know beside the result.

/// Takes each warning (text that begins with `warning: `) and note while a function is at work.
pub type Note<'a> = &'a dyn Fn(&str);

/// Says that unfinished files of killed commands were removed.
pub fn say_removed(n_files: usize, note: Note<'_>) {
    match n_files {
        0 => {}
        1 => note("removed an unfinished file of a killed command"),
        n => note(&format!("removed {n} unfinished files of killed commands")),
    }
}
