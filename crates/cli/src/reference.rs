//! `bellwether reference`: the command line as a document, made from what it is made of.

use bellwether_wire::json::form::{Side, properties};
use bellwether_wire::json::job::FIELDS;
use clap::{Args, Command, CommandFactory};
use serde_json::Value;

use crate::exit::Verdict;
use crate::output;

mod examples;

/// Print the reference of all commands, as Markdown
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Print the fields of a job instead
    #[arg(long)]
    jobs: bool,
}

pub(crate) fn run<T: CommandFactory>(arguments: &Arguments) -> anyhow::Result<Verdict> {
    if arguments.jobs {
        output::print(&fields())?;
    } else {
        let mut root = T::command();
        root.build();
        output::print(&document(&root))?;
    }
    Ok(Verdict::Fine)
}

fn document(root: &Command) -> String {
    let mut text = String::from(
        "# The command line\n\n\
         This page is made by `bellwether reference`, and a test compares them. Every example is run by\n\
         a test, in this order. `--server`, `--token-file` and `--ca`, which every command that talks to a\n\
         scheduler takes, are left out below; so is `--json`, which prints JSON instead of text.\n\n",
    );
    text.push_str("```text\n");
    text.push_str(crate::exit::HELP);
    text.push_str("\n```\n");
    for command in root.get_subcommands().filter(|command| is_shown(command)) {
        describe(&format!("bellwether {}", command.get_name()), command, &mut text);
    }
    text
}

/// The fields of a job, from the table by which jobs are read.
fn fields() -> String {
    let schemas = properties(Side::Reads);
    let mut text = String::from(
        "# The fields of a job\n\n\
         This page is made by `bellwether reference --jobs` from the table by which REST, files, queues and\n\
         the command line read jobs, and a test compares them. Only `type` must be given; spans are seconds,\n\
         or a text with a unit as `\"5m\"`, and null is as good as nothing. A job as JSON:\n\n\
         ```json\n{\"type\": \"resize\", \"payload\": {\"width\": 100}, \"priority\": \"high\", \"timeout\": 120}\n```\n\n\
         | field | what it is | written as |\n| --- | --- | --- |\n",
    );
    for field in FIELDS {
        let written = schemas.get(field.name).map(form).unwrap_or_default();
        text.push_str(&format!("| `{}` | {} | {written} |\n", field.name, field.doc));
    }
    text
}

/// What a schema allows, in a few words.
fn form(schema: &Value) -> String {
    if let Some(choices) = schema["anyOf"].as_array() {
        let mut forms: Vec<String> = choices.iter().map(form).collect();
        forms.retain(|form| form != "null");
        return forms.join(", or ");
    }
    if let Some(words) = schema["enum"].as_array() {
        let words = words.iter().filter(|word| !word.is_null());
        return words
            .map(|word| format!("`{}`", word.to_string().trim_matches('"')))
            .collect::<Vec<_>>()
            .join(", ");
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().cloned().unwrap_or_default(),
        kind => kind.clone(),
    };
    match (kind.as_str(), schema["format"].as_str()) {
        (Some("string"), Some("date-time")) => "a time as 2027-01-31T08:00:00Z".to_owned(),
        (Some("string"), _) => "text".to_owned(),
        (Some("array"), _) => "a list of texts".to_owned(),
        (Some("integer"), _) => "a whole number".to_owned(),
        (Some("number"), _) => "a number".to_owned(),
        (Some("object"), _) => {
            let fields = schema["properties"].as_object();
            let names = fields
                .map(|fields| fields.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>());
            format!("an object with {}", names.unwrap_or_default().join(" and "))
        }
        (Some(other), _) => other.to_owned(),
        (None, _) => "anything".to_owned(),
    }
}

fn is_shown(command: &Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help"
}

fn describe(path: &str, command: &Command, text: &mut String) {
    text.push_str(&format!("\n## `{path}`\n\n"));
    let about = command.get_long_about().or_else(|| command.get_about());
    if let Some(about) = about {
        text.push_str(&format!("{}\n", about.to_string().trim()));
    }
    let lines: Vec<String> = command.get_arguments().filter_map(argument).collect();
    if !lines.is_empty() {
        text.push('\n');
        lines.iter().for_each(|line| text.push_str(line));
    }
    let examples: Vec<&str> =
        examples::ALL.iter().filter(|one| one.command == path).map(|one| one.line).collect();
    if !examples.is_empty() {
        text.push_str(&format!("\n```sh\n{}\n```\n", examples.join("\n")));
    }
    for below in command.get_subcommands().filter(|command| is_shown(command)) {
        describe(&format!("{path} {}", below.get_name()), below, text);
    }
}

/// What every command takes is told once.
const EVERYWHERE: [&str; 6] = ["server", "token", "token_file", "ca", "json", "help"];

fn argument(argument: &clap::Arg) -> Option<String> {
    if EVERYWHERE.contains(&argument.get_id().as_str()) || argument.is_hide_set() {
        return None;
    }
    let names = argument.get_value_names().unwrap_or_default();
    let values: Vec<String> = names.iter().map(|name| format!("<{name}>")).collect();
    let takes_value = argument.get_action().takes_values();
    let name = match argument.get_long() {
        Some(long) if takes_value => format!("--{long} {}", values.join(" ")),
        Some(long) => format!("--{long}"),
        None => values.join(" "),
    };
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let defaults: Vec<String> = argument
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    let default = match defaults.join(",") {
        default if default.is_empty() || !takes_value => String::new(),
        default => format!(" (default {default})"),
    };
    Some(format!("- `{}`: {}{default}\n", name.trim_end(), help.replace('\n', " ")))
}
