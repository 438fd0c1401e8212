//! `plan`: predicts memory, disk, bytes and time of a run.

use crate::run;
use clap::Args;

use super::disk_endurance::DiskEndurance;
use super::resume::resumed;
use super::run_flags::RunArgs;
use super::train::{TrainArgs, config};
use crate::cli::flags::fields::with_flags;
use crate::cli::show::output::print;
use crate::cli::show::table::TextTable;
use crate::run::config::RunConfig;
use crate::run::plan::Plan;
use crate::words::error::{Error, Result};
use crate::words::size::{number, size};

/// Predict the memory, disk space, bytes and time of a training run
///
/// Takes the flags of a training run. Trains for a moment on small graphs with the proportions of the real one, in the folder for
/// spilled data.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(in crate::cli) struct PlanArgs {
    #[command(flatten)]
    pub(in crate::cli) train: Option<TrainArgs>,
    #[command(flatten)]
    pub(in crate::cli) run: RunArgs,
    #[command(flatten)]
    disk_endurance: DiskEndurance,
    /// Print the plan as a JSON object, in bytes and seconds
    #[arg(long)]
    json: bool,
}

/// Plans the run that the flags describe.
pub(in crate::cli) fn plan(args: PlanArgs) -> Result<()> {
    let config = of_flags(args.train, &args.run)?;
    let mut plan = run::plan::plan(&config)?;
    for text in &mut plan.advice {
        *text = with_flags(text);
    }
    if args.json {
        let text = serde_json::to_string_pretty(&plan)
            .map_err(|e| Error::internal(format!("cannot encode the plan: {e}")))?;
        return print(&format!("{text}\n"));
    }
    print(&show(&plan, args.disk_endurance))
}

/// The configuration of the run that flags describe. The parser requires the flags of a new run, or `--resume`.
pub(in crate::cli) fn of_flags(train: Option<TrainArgs>, run: &RunArgs) -> Result<RunConfig> {
    match train {
        Some(train) if run.resume.is_some() => resumed(run, Some(train.part_json)),
        Some(train) => config(train, run),
        None => resumed(run, None),
    }
}

fn show(plan: &Plan, disk_endurance: DiskEndurance) -> String {
    let Plan { partitions, nodes, edges, halo_rows, sampled, memory, disk, epoch, advice } = plan;
    let mut table = TextTable::new(&["", ">", ""]);
    let about = if *sampled { ", by a sample" } else { "" };
    let graph = format!(
        "nodes, {} edges, {partitions} partitions, {} halo nodes{about}",
        number(*edges),
        number(*halo_rows)
    );
    table.row(["graph", &number(*nodes), &graph]);
    let budget = match memory.budget {
        Some(budget) if budget < memory.least => {
            format!("at the peak, if nothing is kept: more than the budget, {}", size(budget))
        }
        Some(budget) => format!(
            "at the peak, if nothing is kept; with {}, waiting workers keep {}",
            size(budget),
            size(memory.kept)
        ),
        None => "at the peak".to_owned(),
    };
    table.row(["memory", &size(memory.least), &budget]);
    let free = disk.free.map_or_else(String::new, |free| {
        let only = if free < disk.peak { "only " } else { "" };
        format!("; {only}{} free", size(free))
    });
    table.row(["disk", &size(disk.peak), &format!("at the peak, in the first epoch{free}")]);
    let moved = epoch.written + epoch.read;
    let parts = format!("{} written, {} read", size(epoch.written), size(epoch.read));
    table.row(["bytes per epoch", &size(moved), &parts]);
    let unpacked = epoch.unpacked();
    if unpacked > moved {
        table.row(["", &size(unpacked), "if zeros were not left out"]);
    }
    if memory.kept > 0 {
        let least = format!("with {}", size(memory.least));
        table.row(["", &size(epoch.moved_at_least_memory), &least]);
    }
    let past = epoch.past_the_cache();
    if epoch.cached > 0 {
        table.row(["", &size(past), "around the page cache; the rest fits in the budget"]);
    }
    if let Some(bound) = epoch.bound {
        let all = unpacked.saturating_sub(epoch.cached);
        let ratio = match bound {
            0 => "the lower bound: everything fits".to_owned(),
            // A bound that is nearly zero is far below any run.
            bound if bound < all / 10 || bound > all => {
                "the lower bound of any schedule".to_owned()
            }
            bound => format!(
                "the lower bound of any schedule; this run moves {:.2} times that, zeros included",
                all as f64 / bound as f64
            ),
        };
        table.row(["", &size(bound), &ratio]);
    }
    let at_once = if epoch.resident > 1 { ", side by side" } else { "" };
    let seconds = format!(
        "{:.2} s of computing, {:.2} s for the disk{at_once}",
        epoch.compute_s, epoch.disk_s
    );
    table.row(["time per epoch", &format!("{:.2} s", epoch.seconds()), &seconds]);
    let epochs = if disk.epochs == 1 { "epoch" } else { "epochs" };
    let wear = disk_endurance
        .share_of(disk.written)
        .map_or_else(String::new, |share| format!(": {share}"));
    let all = format!("to the disk at most, in {} {epochs}{wear}", disk.epochs);
    table.row(["written in the run", &size(disk.written), &all]);
    for (i, text) in advice.iter().enumerate() {
        table.row([if i == 0 { "advice" } else { "" }, "", text]);
    }
    table.to_string()
}
