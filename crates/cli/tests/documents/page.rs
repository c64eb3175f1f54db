//! A page and the blocks in it that are commands.

use std::path::{Path, PathBuf};

pub(crate) struct Page {
    pub(crate) path: &'static str,
    pub(crate) steps: Vec<Step>,
    /// Blocks of commands that are not run, each with the reason that the page gives.
    pub(crate) left_out: Vec<String>,
    /// The commands of ours in them.
    pub(crate) ours_left_out: Vec<String>,
}

/// What is run at once.
pub(crate) struct Step {
    pub(crate) line: usize,
    pub(crate) script: String,
    /// What it must print; none: anything.
    pub(crate) shown: Option<Vec<String>>,
}

pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("crates lie two folders down").to_owned()
}

impl Page {
    pub(crate) fn read(path: &'static str) -> Page {
        let text = std::fs::read_to_string(root().join(path)).expect("the page can be read");
        let mut page =
            Page { path, steps: Vec::new(), left_out: Vec::new(), ours_left_out: Vec::new() };
        let mut lines = text.lines().enumerate();
        let mut reason = None;
        while let Some((number, line)) = lines.next() {
            if let Some(why) = comment(line, "not run:") {
                reason = Some(why.to_owned());
            } else if let Some(commands) = comment(line, "run first:") {
                let script = commands.to_owned();
                page.steps.push(Step { line: number + 1, script, shown: None });
            } else if let Some(language) = line.strip_prefix("```") {
                let block: Vec<&str> = lines
                    .by_ref()
                    .map(|(_, line)| line)
                    .take_while(|line| *line != "```")
                    .collect();
                page.take(language, number + 2, &block, reason.take());
            } else if !line.is_empty() && reason.is_some() {
                panic!("{path}:{}: what is not run is no block", number + 1);
            }
        }
        page
    }

    fn take(&mut self, language: &str, line: usize, block: &[&str], left_out: Option<String>) {
        let at = format!("{}:{line}", self.path);
        assert!(!language.is_empty(), "{at}: say what the block is, as sh, console or text");
        if !["sh", "console"].contains(&language) {
            assert!(left_out.is_none(), "{at}: {language} is never run");
            return;
        }
        if let Some(reason) = left_out {
            assert!(!reason.is_empty(), "{at}: say why it is not run");
            self.left_out.push(reason);
            let ours = block.iter().filter(|line| line.starts_with("bellwether "));
            self.ours_left_out.extend(ours.map(|line| (*line).to_owned()));
        } else if language == "sh" {
            self.steps.push(Step { line, script: block.join("\n"), shown: None });
        } else {
            self.take_console(line, block);
        }
    }

    fn take_console(&mut self, first: usize, block: &[&str]) {
        for (index, line) in block.iter().enumerate() {
            match (line.strip_prefix("$ "), self.steps.last_mut()) {
                (Some(command), _) => {
                    let (script, shown) = (command.to_owned(), Some(Vec::new()));
                    self.steps.push(Step { line: first + index, script, shown });
                }
                (None, Some(Step { script, shown: Some(shown), .. })) => {
                    // A command that goes on in the next line.
                    if shown.is_empty() && script.ends_with('\\') {
                        script.push('\n');
                        script.push_str(line.trim_start_matches("> "));
                    } else {
                        shown.push((*line).to_owned());
                    }
                }
                (None, _) => panic!("{}:{first}: a console begins with $", self.path),
            }
        }
    }
}

/// What an HTML comment of one line says behind this.
fn comment<'a>(line: &'a str, kind: &str) -> Option<&'a str> {
    let said = line.strip_prefix("<!--")?.strip_suffix("-->")?.trim();
    said.strip_prefix(kind).map(str::trim)
}
