//! Records as bytes: written straight from the core's types, read through the generated ones.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod salvage;
pub(crate) mod writer;
