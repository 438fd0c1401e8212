//! Output for people: results, errors, tables and reports.

pub(super) mod output;
pub(super) mod partition_report;
pub(super) mod partition_tables;
pub(super) mod shell_word;
pub(super) mod statistics_table;
pub(super) mod table;
