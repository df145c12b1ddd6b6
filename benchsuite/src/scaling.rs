//! The gain of a second worker on a second CPU, on sockets and over AF_XDP.

use anyhow::ensure;

use crate::names;
use crate::programs::Generator;
use crate::report::Section;
use crate::rig_comparison::{ANSWERED, Bound, FOR_ANSWERS, RigComparison};
use crate::setting::Setting;
use crate::veth::{FarEnd, Veth};
use crate::xdp::BACKEND;

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let rig = &setting.rig;
    ensure!(rig.cpus().len() > 1, "two workers need two CPUs, and this process may use only one");
    let both = [rig.server_cpu(), rig.generator_cpu()];
    // Queue n belongs to CPU n, so both CPUs need one.
    let queues = both.iter().max().map_or(2, |cpu| *cpu as u32 + 1);
    let veth = Veth::new(FarEnd::Reflect, queues)?;
    let target = veth.target(&names::one(rig)?);
    let load = |workers: u32, outstanding: u32, backend: &str| {
        let outstanding = workers * outstanding;
        let seconds = setting.seconds;
        format!("{backend} --outstanding {outstanding} --workers {workers} --for {seconds}s")
    };
    let plain = |workers| load(workers, setting.outstanding, "") + &format!(" --clients {workers}");
    let xdp = |workers| load(workers, setting.xdp_outstanding, BACKEND);
    let ours =
        |load: String, label, cpus: &[usize]| Generator::dnsdyno(setting, &target, &load).named(label, cpus);
    let outcome = RigComparison::on(&veth, setting)
        .with(ours(plain(2), SOCKETS_TWO, &both))
        .with(ours(plain(1), SOCKETS_ONE, &both[1..]))
        .with(ours(xdp(2), XDP_TWO, &both))
        .with(ours(xdp(1), XDP_ONE, &both[1..]))
        .run(ANSWERED)?;
    let bars = vec![
        outcome.bar(SOCKETS_TWO, SOCKETS_ONE, ANSWERED, Bound::AtLeast(1.5)),
        outcome.bar(XDP_TWO, XDP_ONE, ANSWERED, Bound::AtLeast(1.5)),
    ];
    let method = format!(
        "\"{}\", closed loop, {} outstanding a worker on sockets and {} over AF_XDP, for {} s, turns of each: {}. One \
         worker on one CPU, two on two; the interfaces have a queue for each CPU, and the responder answers on the CPU \
         that sent. One of the two targets must be met.",
        names::ONE,
        setting.outstanding,
        setting.xdp_outstanding,
        setting.seconds,
        setting.pairs
    );
    Ok(outcome.section("scaling", method, FOR_ANSWERS, bars))
}

const SOCKETS_ONE: &str = "dnsdyno, 1 worker";
const SOCKETS_TWO: &str = "dnsdyno, 2 workers";
const XDP_ONE: &str = "dnsdyno AF_XDP, 1 worker";
const XDP_TWO: &str = "dnsdyno AF_XDP, 2 workers";
