//! What a file of others may make this host do: nothing that its reader cannot see before, and no load on a public
//! address that nobody at the command line has allowed.

use crate::beside::experiment::SHORT;
use crate::support::Workplace;

/// An address that nobody has, of which load needs consent. Nothing is sent: the other options are wrong.
const PUBLIC: &str = "192.0.9.1";

#[test]
fn a_file_cannot_allow_the_load_of_a_public_address() {
    let work = Workplace::with_queries();
    let only_here = ["i-may-load-this-server", "on the command line"];
    work.write(
        "plan.toml",
        format!("server = \"{PUBLIC}\"\nqueries = \"q.txt\"\ni-may-load-this-server = true\n"),
    );
    for verb in ["run --plan plan.toml", "find --plan plan.toml --while loss<1%", "qualify --plan plan.toml"]
    {
        work.dnsdyno(verb).ends_refused(2, &only_here);
    }
    let server = format!("[[server]]\nname = \"there\"\naddress = \"{PUBLIC}\"\n");
    let loads = [
        "[[load]]\nname = \"run\"\nrate = 1\n",
        "[[load]]\nname = \"program\"\ncommand = \"true\"\n",
        "[[load]]\nname = \"search\"\nfind = \"limit\"\n",
    ];
    for load in loads {
        let short = format!("{SHORT}ask = [\"a A\"]\n");
        for text in [
            format!("{short}{server}i-may-load-this-server = true\n{load}"),
            format!("{short}i-may-load-this-server = true\n{server}{load}"),
            format!("{short}{server}{load}i-may-load-this-server = true\n"),
            format!("{short}{server}{load}[[full.server]]\nname = \"a\"\ni-may-load-this-server = true\n"),
        ] {
            work.write("x.toml", &text);
            work.dnsdyno("experiment x.toml")
                .ends_refused(2, &["i-may-load-this-server", "on the command line", "line "]);
        }
        work.write("x.toml", format!("{short}{server}{load}"));
        work.dnsdyno("experiment x.toml")
            .ends_refused(2, &["public address", &format!("--i-may-load-this-server {PUBLIC}")]);
        let allowed = format!("experiment x.toml --dry-run --i-may-load-this-server {PUBLIC}");
        let planned = work.dnsdyno(&allowed).gives(if load.contains("find") { 2 } else { 0 });
        assert!(!planned.stderr.contains("public address"), "{}", planned.stderr);
        work.dnsdyno("experiment x.toml --dry-run --i-may-load-this-server 192.0.9.2")
            .ends_refused(2, &["192.0.9.2", "no [[server]] has this `address`"]);
    }
}

#[test]
fn a_dry_run_shows_each_command_that_a_file_would_run() {
    let work = Workplace::with_queries();
    work.write(
        "own.toml",
        "package = \"none\"\nprogram = \"/bin/true\"\nconfig = \"\"\ncommand = [\"--serve\", \"two words\"]\n\
         initialise = [\"/bin/touch\", \"initialised\"]\n\
         version = { arguments = [\"--own-version\"], after = \"x\" }\n\
         [ready]\ntype = \"A\"\ntransports = [\"udp\"]\nport_taken = [\"in use\"]\n",
    );
    let long = "x".repeat(5_000);
    work.write(
        "x.toml",
        format!(
            "{SHORT}ask = [\"a A\"]\n\
             [[helper]]\nname = \"aid\"\ntemplate = \"./own.toml\"\nprogram = \"/bin/false\"\n\
             [[server]]\nname = \"own\"\ntemplate = \"./own.toml\"\nprepare = \"touch prepared\\ntouch twice\"\n\
             ready-when = \"touch ready\"\nenvironment = {{ LD_PRELOAD = \"evil.so\" }}\n\
             sysctl = {{ \"net.core.somaxconn\" = 9 }}\n\
             [[load]]\nname = \"theirs\"\ncommand = \"touch loaded; : {long}; touch hidden\"\n\
             [[load]]\nname = \"ours\"\nrate = 1\n\
             [[event]]\nat = \"1s\"\nevery = \"2s\"\nrun = \"touch happened \\u001b[8m\"\nname = \"harmless\"\n"
        ),
    );
    let planned = work.dnsdyno("experiment x.toml --dry-run").gives(0).stdout;
    for shown in [
        "helper aid: /bin/false --serve 'two words'\n",
        "server own: /bin/true --own-version\n",
        "server own: /bin/touch initialised\n",
        "server own: /bin/true --serve 'two words'\n",
        "server own, prepare:\n      touch prepared\n      touch twice\n",
        "server own, ready-when: touch ready\n",
        "server own: with LD_PRELOAD in the environment\n",
        "server own: with net.core.somaxconn = 9 of the kernel\n",
        "load theirs: touch loaded; : x",
        "; touch hidden\n",
        "event at 1 s, and each 2 s from then on: touch happened \\u{1b}[8m\n",
    ] {
        assert!(planned.contains(shown), "no {shown:?} in\n{planned}");
    }
    assert!(!planned.contains("evil.so"), "{planned}");
    for made in ["initialised", "prepared", "ready", "loaded", "hidden", "happened", "runs"] {
        assert!(!work.has(made), "{made}");
    }

    work.write(
        "tasks.toml",
        "[[task]]\nname = \"add\"\nevery = \"10s\"\nrun = \"touch added\"\n\
         [[task.look-for]]\nname = \"there\"\nrun = \"touch seen\"\nwithin = \"1s\"\n",
    );
    let words = "qualify -s 127.0.0.1:9 -d q.txt --scale 1/48 --function tasks.toml --dry-run";
    let planned = work.dnsdyno(words).gives(0).stdout;
    assert!(planned.contains("    add: touch added\n    add, there: touch seen\n"), "{planned}");
    assert!(!work.has("added") && !work.has("seen"));
}
