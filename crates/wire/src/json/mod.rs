//! Jobs as people write them.
