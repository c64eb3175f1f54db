//! The engine through its door: scripts by theme, properties of random histories, and one golden
//! history. One binary, because they share the fixture.

mod golden;
mod properties;
mod script;
mod themes;
