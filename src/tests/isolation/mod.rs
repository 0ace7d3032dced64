//! One user never sees another. `rows` proves that of the database alone; the
//! other files walk all that is served (routes, tools, methods of MCP, jobs) as
//! it stands in the source, and call each with somebody else's names. What is
//! served without a case here fails, and the failure says what to add.

mod jobs;
mod mcp;
mod routes;
mod rows;
mod scene;
mod tools;
mod walk;
