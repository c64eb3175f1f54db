//! The document tells of every operation, and the table of roles has every one.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use bellwether_server::edges::security::access::{self, Access};

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_in_the_table_of_roles_and_the_other_way_round() -> Result<()> {
    let fixture = Fixture::start().await?;
    let document = fixture.get("/scheduler/openapi.json").await?.json()?;
    assert_eq!(document["openapi"], "3.1.0");
    let mut told = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().context("there are paths")? {
        for (method, operation) in methods.as_object().context("there are methods")? {
            let operation_name = format!("{} {path}", method.to_uppercase());
            let access = access::access(&operation_name).context(operation_name.clone())?;
            let roles = operation["x-roles"].as_array().context("the roles are told")?;
            match access {
                Access::Everybody => assert!(roles.is_empty()),
                Access::Holders => assert_eq!(roles[0], "any"),
                Access::Roles(known) => assert_eq!(roles.len(), known.len()),
            }
            told.insert(operation_name);
        }
    }
    let table: BTreeSet<String> = access::operations()
        .map(|(method, path)| format!("{method} {path}"))
        .filter(|operation| operation.contains(" /scheduler/"))
        .collect();
    assert_eq!(told, table);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_described_by_the_one_table_of_their_fields() -> Result<()> {
    let fixture = Fixture::start().await?;
    let document = fixture.get("/scheduler/openapi.json").await?.json()?;
    let schemas = &document["components"]["schemas"];
    let table = bellwether_wire::json::form::job_schema();
    assert_eq!(schemas["NewJob"]["properties"], table["properties"]);
    let shown = schemas["Job"]["properties"].as_object().context("a job has properties")?;
    // Another way to write `cpu` and `memory`, and one to write many jobs, for those who submit.
    let for_submissions = ["resources", "array"];
    let written = table["properties"].as_object().context("a table of fields")?;
    for field in written.keys().filter(|field| !for_submissions.contains(&field.as_str())) {
        assert!(shown.contains_key(field), "{field} is not shown");
    }
    Ok(())
}
