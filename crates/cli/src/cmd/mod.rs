//! The subcommands, one file each.

pub(crate) mod agent;
pub(crate) mod capture;
pub(crate) mod compare;
pub(crate) mod data;
pub(crate) mod demo;
pub(crate) mod diagnose;
pub(crate) mod doctor;
pub(crate) mod epc;
pub(crate) mod experiment;
pub(crate) mod export;
pub(crate) mod find;
pub(crate) mod history;
pub(crate) mod links;
pub(crate) mod merge;
pub(crate) mod note;
pub(crate) mod qualify;
pub(crate) mod relay;
pub(crate) mod report;
pub(crate) mod respond;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod tune;
pub(crate) mod version;
pub(crate) mod watch;
pub(crate) mod world;
