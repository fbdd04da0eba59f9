//! Feature maps, one file each.
