//! Tokens: long random secrets, of which only hashes are kept.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bellwether_core::words;
use bellwether_wire::json::hex;

use crate::private::{PrivateError, check_unchanged};

/// The rights that a token can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Submits jobs, and looks after them.
    Submitter,
    /// Runs jobs.
    Worker,
    /// Steers the scheduler.
    Operator,
    /// Looks at everything, changes nothing.
    Viewer,
    /// Another scheduler.
    Peer,
}

words!(
    Role:
    Submitter => "submitter", Worker => "worker", Operator => "operator", Viewer => "viewer",
    Peer => "peer",
);

/// Who a token says that one is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub name: String,
    pub roles: Vec<Role>,
}

#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    #[error("failed to read the tokens {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Private(#[from] PrivateError),
    #[error("{}, line {line}: {problem}", path.display())]
    Line { path: PathBuf, line: usize, problem: String },
}

/// The tokens that are let in, by hash.
#[derive(Debug, Default)]
pub struct Tokens {
    holders: HashMap<[u8; 32], Holder>,
}

impl Tokens {
    /// A line a token: its name, its roles with commas between them, and its hash in hexadecimal.
    pub fn load(path: &Path) -> Result<Tokens, TokensError> {
        check_unchanged(path)?;
        let text = std::fs::read_to_string(path)
            .map_err(|source| TokensError::Read { path: path.to_owned(), source })?;
        let mut holders = HashMap::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let (hash, holder) = parse(line).map_err(|problem| TokensError::Line {
                path: path.to_owned(),
                line: index + 1,
                problem,
            })?;
            holders.insert(hash, holder);
        }
        Ok(Tokens { holders })
    }

    pub fn holder(&self, token: &str) -> Option<&Holder> {
        self.holders.get(&hash(token))
    }
}

fn parse(line: &str) -> Result<([u8; 32], Holder), String> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [name, roles, hash] = fields[..] else {
        return Err("it must be a name, roles and a hash".to_owned());
    };
    let roles = roles
        .split(',')
        .map(|role| Role::parse(role).ok_or_else(|| format!("{role} is no role")))
        .collect::<Result<_, _>>()?;
    let hash = blake3::Hash::from_hex(hash).map_err(|_| "the hash must be 64 digits".to_owned())?;
    Ok((*hash.as_bytes(), Holder { name: name.to_owned(), roles }))
}

/// One unsalted hash is enough because a token has 256 random bits: nobody can guess through that.
fn hash(token: &str) -> [u8; 32] {
    *blake3::hash(token.as_bytes()).as_bytes()
}

/// A new token, and the line that lets it in.
pub fn issue(name: &str, roles: &[Role]) -> std::io::Result<(String, String)> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)?;
    let token = format!("bellwether-{}", hex(&secret));
    let roles: Vec<_> = roles.iter().map(|role| role.as_str()).collect();
    let hash = blake3::hash(token.as_bytes()).to_hex();
    let line = format!("{name} {} {hash}", roles.join(","));
    Ok((token, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issued_token_is_let_in_with_its_roles() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (token, line) = issue("ci", &[Role::Submitter, Role::Viewer]).unwrap();
        std::fs::write(file.path(), format!("# who may\n{line}\n")).unwrap();
        let tokens = Tokens::load(file.path()).unwrap();
        let holder = tokens.holder(&token).unwrap();
        assert_eq!((holder.name.as_str(), holder.roles.len()), ("ci", 2));
        assert_eq!(tokens.holder("guess"), None);
        assert!(!line.contains(&token));
    }

    #[test]
    fn a_bad_line_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "\nci king abc\n").unwrap();
        let error = Tokens::load(file.path()).unwrap_err().to_string();
        assert!(error.ends_with("line 2: king is no role"), "{error}");
    }
}
