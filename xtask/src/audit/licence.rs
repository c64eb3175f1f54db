//! Licences that we may ship under Apache-2.0, and the SPDX expressions that combine them.

use crate::metadata::{Metadata, Package};

const ALLOWED: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

pub(super) fn check(built: &Metadata) -> Vec<String> {
    built.packages.iter().filter_map(complaint).collect()
}

fn complaint(package: &Package) -> Option<String> {
    let named = format!("{} {}", package.name, package.version);
    let Some(expression) = &package.license else {
        return Some(format!("{named} names no licence; find out, or do without it"));
    };
    if allows(expression) {
        return None;
    }
    Some(format!("{named} is under {expression}, which is not on the list; do without it"))
}

/// What does not parse is not allowed.
fn allows(expression: &str) -> bool {
    let mut parser = Parser::new(expression);
    parser.any_of() == Some(true) && parser.position == parser.tokens.len()
}

/// Evaluates an expression as "may we": a licence is true if it is on the list. AND binds more
/// tightly than OR; `/` is an old way to write OR.
struct Parser {
    tokens: Vec<String>,
    position: usize,
}

impl Parser {
    fn new(expression: &str) -> Parser {
        let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
        let tokens = spaced.split_whitespace().map(str::to_owned).collect();
        Parser { tokens, position: 0 }
    }

    fn any_of(&mut self) -> Option<bool> {
        let mut allowed = self.all_of()?;
        while self.take("OR") {
            allowed |= self.all_of()?;
        }
        Some(allowed)
    }

    fn all_of(&mut self) -> Option<bool> {
        let mut allowed = self.one()?;
        while self.take("AND") {
            allowed &= self.one()?;
        }
        Some(allowed)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let allowed = self.any_of()?;
            return self.take(")").then_some(allowed);
        }
        let mut licence = self.next()?;
        if self.take("WITH") {
            licence = format!("{licence} WITH {}", self.next()?);
        }
        Some(ALLOWED.contains(&licence.as_str()))
    }

    fn take(&mut self, token: &str) -> bool {
        let taken = self.tokens.get(self.position).is_some_and(|next| next == token);
        self.position += usize::from(taken);
        taken
    }

    fn next(&mut self) -> Option<String> {
        let token = self.tokens.get(self.position)?.clone();
        self.position += 1;
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_as_spdx_means_them() {
        for allowed in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "GPL-3.0-only OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0-only",
        ] {
            assert!(allows(allowed), "{allowed}");
        }
        for refused in [
            "",
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "MIT OR",
            "(MIT",
            "MIT Apache-2.0",
            "GPL-2.0-only WITH Classpath-exception-2.0",
            "GPL-3.0-only OR MIT AND AGPL-3.0-only",
        ] {
            assert!(!allows(refused), "{refused}");
        }
    }

    #[test]
    fn a_licence_off_the_list_and_a_missing_one_are_found() {
        let built: Metadata = serde_json::from_str(
            r#"{"packages": [
                {"name": "a", "version": "1.0.0", "license": "MIT",
                 "features": {}, "dependencies": []},
                {"name": "b", "version": "1.0.0", "license": "AGPL-3.0-only",
                 "features": {}, "dependencies": []},
                {"name": "c", "version": "1.0.0", "license": null,
                 "features": {}, "dependencies": []}
            ]}"#,
        )
        .unwrap();
        assert_eq!(
            check(&built),
            [
                "b 1.0.0 is under AGPL-3.0-only, which is not on the list; do without it",
                "c 1.0.0 names no licence; find out, or do without it",
            ]
        );
    }
}
