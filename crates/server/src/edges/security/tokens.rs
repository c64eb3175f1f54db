//! Tokens: long random secrets, of which only hashes are kept.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use bellwether_core::model::excerpt;
use bellwether_core::words;
use bellwether_wire::json::hex;
use bellwether_wire::private::{PrivateError, check_unchanged};
use jiff::Timestamp;

/// Until there are others.
pub use bellwether_core::model::NAMESPACE_DEFAULT;
const NAME_BYTES_MAX: usize = 128;

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
    pub namespace: String,
    /// None: it does not expire.
    pub expires: Option<Timestamp>,
}

impl Holder {
    /// In the default namespace, for ever.
    pub fn new(name: &str, roles: &[Role]) -> Holder {
        Holder {
            name: name.to_owned(),
            roles: roles.to_vec(),
            namespace: NAMESPACE_DEFAULT.to_owned(),
            expires: None,
        }
    }

    pub fn has_expired(&self) -> bool {
        let now = || Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::MAX);
        self.expires.is_some_and(|expires| expires <= now())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    #[error("failed to read the tokens {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("failed to make the token {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Private(#[from] PrivateError),
    #[error("{}, line {line}: {problem}", path.display())]
    Line { path: PathBuf, line: usize, problem: String },
}

/// What is kept of a token.
pub(crate) type TokenHash = [u8; 32];

/// The tokens that are let in, by hash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    holders: HashMap<TokenHash, Arc<Holder>>,
}

impl Tokens {
    /// A line a token: its name, its roles with commas between them, and its hash in hexadecimal;
    /// then, if it says so, `namespace=..` and `expires=..`.
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
            holders.insert(hash, Arc::new(holder));
        }
        Ok(Tokens { holders })
    }

    /// Lets in one more.
    pub(crate) fn insert(&mut self, token: &str, holder: Holder) {
        self.holders.insert(hash(token), Arc::new(holder));
    }

    pub fn holder(&self, token: &str) -> Option<&Arc<Holder>> {
        self.get(&hash(token))
    }

    pub(crate) fn get(&self, hash: &TokenHash) -> Option<&Arc<Holder>> {
        self.holders.get(hash)
    }
}

fn parse(line: &str) -> Result<(TokenHash, Holder), String> {
    let mut fields = line.split_whitespace();
    let (Some(name), Some(roles), Some(hash)) = (fields.next(), fields.next(), fields.next())
    else {
        return Err("it must be a name, roles and a hash".to_owned());
    };
    if name.len() > NAME_BYTES_MAX {
        return Err(format!("its name is longer than {NAME_BYTES_MAX} bytes"));
    }
    let roles = roles
        .split(',')
        .map(|role| Role::parse(role).ok_or_else(|| format!("{} is no role", excerpt(role))))
        .collect::<Result<Vec<_>, _>>()?;
    let hash = blake3::Hash::from_hex(hash).map_err(|_| "the hash must be 64 digits".to_owned())?;
    let mut holder = Holder::new(name, &roles);
    for field in fields {
        match field.split_once('=') {
            Some(("namespace", namespace)) if !namespace.is_empty() => {
                holder.namespace = namespace.to_owned();
            }
            Some(("expires", time)) => {
                let wanted = "expires must be a time, as 2030-01-31T12:00:00Z";
                holder.expires = Some(time.parse().map_err(|_| wanted.to_owned())?);
            }
            _ => {
                return Err(format!(
                    "{} is not known; it may be namespace= or expires=",
                    excerpt(field)
                ));
            }
        }
    }
    Ok((*hash.as_bytes(), holder))
}

/// One unsalted hash is enough because a token has 256 random bits: nobody can guess through that.
pub(crate) fn hash(token: &str) -> TokenHash {
    *blake3::hash(token.as_bytes()).as_bytes()
}

/// 256 random bits.
pub(crate) fn random() -> std::io::Result<String> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)?;
    Ok(format!("bellwether-{}", hex(&secret)))
}

/// A new token for this holder, and the line that lets it in.
pub fn issue(holder: &Holder) -> std::io::Result<(String, String)> {
    let token = random()?;
    let roles: Vec<_> = holder.roles.iter().map(|role| role.as_str()).collect();
    let hash = blake3::hash(token.as_bytes()).to_hex();
    let mut line = format!("{} {} {hash}", holder.name, roles.join(","));
    if holder.namespace != NAMESPACE_DEFAULT {
        line += &format!(" namespace={}", holder.namespace);
    }
    if let Some(expires) = holder.expires {
        line += &format!(" expires={expires}");
    }
    Ok((token, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issued_token_is_let_in_with_its_roles() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (token, line) = issue(&Holder::new("ci", &[Role::Submitter, Role::Viewer])).unwrap();
        std::fs::write(file.path(), format!("# who may\n{line}\n")).unwrap();
        let tokens = Tokens::load(file.path()).unwrap();
        let holder = tokens.holder(&token).unwrap();
        assert_eq!((holder.name.as_str(), holder.roles.len()), ("ci", 2));
        assert_eq!(tokens.holder("guess"), None);
        assert!(!line.contains(&token));
    }

    #[test]
    fn a_line_says_where_and_until_when_a_token_counts() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut holder = Holder::new("ci", &[Role::Viewer]);
        holder.namespace = "other".to_owned();
        holder.expires = Some("2020-01-01T00:00:00Z".parse().unwrap());
        let (token, line) = issue(&holder).unwrap();
        std::fs::write(file.path(), line).unwrap();
        let tokens = Tokens::load(file.path()).unwrap();
        assert_eq!(**tokens.holder(&token).unwrap(), holder);
        assert!(holder.has_expired() && !Holder::new("ci", &[]).has_expired());
    }

    #[test]
    fn a_bad_line_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "\nci king abc\n").unwrap();
        let error = Tokens::load(file.path()).unwrap_err().to_string();
        assert!(error.ends_with("line 2: king is no role"), "{error}");
    }
}
