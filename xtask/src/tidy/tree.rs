//! The files of the repository, read once. What `.gitignore` names is no part of it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
    files: Vec<File>,
}

#[derive(Debug)]
pub(super) struct File {
    /// From the root, with `/`.
    pub(super) path: String,
    /// None if it is not UTF-8.
    text: Option<String>,
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Tree> {
        let mut tree = Tree { root: root.to_owned(), files: Vec::new() };
        let ignored = Ignored::read(root)?;
        tree.read_folder(root, "", &ignored)?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// The files that a person writes and reads, with their text.
    pub(super) fn written(&self) -> impl Iterator<Item = (&File, &str)> {
        self.files
            .iter()
            .filter(|file| file.is_written())
            .filter_map(|file| Some((file, file.text.as_deref()?)))
    }

    pub(super) fn with_extension(&self, extension: &str) -> impl Iterator<Item = (&File, &str)> {
        self.written().filter(move |(file, _)| file.extension() == Some(extension))
    }

    /// `path` is from the root; folders count.
    pub(super) fn holds(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str, ignored: &Ignored) -> Result<()> {
        let failure = || format!("failed to read {}", folder.display());
        for entry in fs::read_dir(folder).with_context(failure)? {
            let entry = entry.with_context(failure)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            if ignored.covers(&path, &name) {
                continue;
            }
            if entry.file_type().with_context(failure)?.is_dir() {
                self.read_folder(&entry.path(), &format!("{path}/"), ignored)?;
            } else {
                let bytes =
                    fs::read(entry.path()).with_context(|| format!("failed to read {path}"))?;
                self.files.push(File { path, text: String::from_utf8(bytes).ok() });
            }
        }
        Ok(())
    }
}

impl File {
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    pub(super) fn extension(&self) -> Option<&str> {
        Path::new(&self.path).extension()?.to_str()
    }

    fn is_written(&self) -> bool {
        const EXTENSIONS: [&str; 13] = [
            "rs", "toml", "md", "proto", "py", "pyi", "sh", "sql", "yaml", "html", "css", "js",
            "ts",
        ];
        const NAMES: [&str; 2] = [".ci/run", ".gitignore"];
        // What others wrote is kept as it was published.
        let ours = !self.path.contains("/vendor/");
        (ours && self.extension().is_some_and(|extension| EXTENSIONS.contains(&extension)))
            || NAMES.contains(&self.path.as_str())
    }
}

/// The plain forms of `.gitignore`: `/path`, `name`, `name/` and `*.extension`.
#[derive(Debug)]
struct Ignored {
    patterns: Vec<String>,
}

impl Ignored {
    fn read(root: &Path) -> Result<Ignored> {
        let path = root.join(".gitignore");
        let text = if path.exists() {
            fs::read_to_string(path).context("failed to read .gitignore")?
        } else {
            String::new()
        };
        let mut patterns: Vec<String> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| line.trim_end_matches('/').to_owned())
            .collect();
        patterns.push("/.git".to_owned());
        Ok(Ignored { patterns })
    }

    fn covers(&self, path: &str, name: &str) -> bool {
        self.patterns.iter().any(|pattern| match pattern.strip_prefix('/') {
            Some(from_root) => from_root == path,
            None => match pattern.strip_prefix('*') {
                Some(ending) => name.ends_with(ending),
                None => pattern == name,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary_tree::TemporaryTree;

    #[test]
    fn what_gitignore_names_is_left_out() {
        let temporary = TemporaryTree::new(&[
            (".gitignore", "/target\n__pycache__/\n*.pyc\n"),
            (".git/HEAD", ""),
            ("target/debug/x.rs", ""),
            ("python/__pycache__/x.py", ""),
            ("python/x.pyc", ""),
            ("python/target/x.py", ""),
        ]);
        let tree = Tree::read(temporary.root()).unwrap();
        let paths: Vec<&str> = tree.files().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".gitignore", "python/target/x.py"]);
    }
}
