//! The files of a private INN: its configuration and its empty databases.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use super::{Options, invalid};

/// Where Debian keeps INN's programs.
const PROGRAMS: &str = "/usr/lib/news/bin";

/// Where an instance feeds itself from; readers come from 127.0.0.1. INN tells peers from readers by their address.
pub(super) const FEEDER: [u8; 4] = [127, 0, 0, 2];

/// Kilobytes of the buffer that holds all articles. Nothing of it is on the disk before it is used.
const ROOM: u64 = 2 << 20;

/// A program of INN.
pub(super) fn program(name: &str) -> PathBuf {
    Path::new(PROGRAMS).join(name)
}

/// Who INN's programs run as.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) ids: (u32, u32),
    /// Whether it is another than ours.
    pub(super) foreign: bool,
}

impl Account {
    /// INN refuses to run as root; then it runs as Debian's `news`, else as whoever we are.
    pub(super) fn find() -> io::Result<Self> {
        let own = rustix::process::getuid().as_raw();
        let accounts = fs::read_to_string("/etc/passwd")?;
        let mut accounts = accounts.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?.to_owned();
            let uid = fields.nth(1)?.parse().ok()?;
            let ids = (uid, fields.next()?.parse().ok()?);
            let foreign = uid != own;
            Some(Self { name, ids, foreign })
        });
        let wanted = accounts.find(|account| match own {
            0 => account.name == "news",
            _ => !account.foreign,
        });
        wanted.ok_or_else(|| invalid("there is nobody to run INN as"))
    }
}

/// Writes everything an instance needs into an empty directory.
pub(super) fn write(
    root: &Path,
    name: &str,
    options: &Options,
    account: &Account,
) -> io::Result<()> {
    let path = root.to_str();
    let path = path.ok_or_else(|| invalid("the temporary directory has an odd name"))?;
    for directory in [
        "etc",
        "db",
        "run",
        "log",
        "tmp",
        "articles",
        "overview",
        "outgoing",
        "incoming",
        "incoming/bad",
        "archive",
    ] {
        fs::create_dir(root.join(directory))?;
    }
    let put = |name: &str, text: &str| fs::write(root.join(name), text);
    put("etc/inn.conf", &inn_conf(path, name, options, account))?;
    put("etc/newsfeeds", "ME:*::\n")?;
    let [a, b, c, d] = FEEDER;
    let peer = format!("peer feeder {{\n hostname: \"{a}.{b}.{c}.{d}\"\n}}\n");
    put("etc/incoming.conf", &format!("streaming: true\n{peer}"))?;
    // One file for all articles takes half the time of a file for each.
    let storage = "method cnfs {\n newsgroups: *\n class: 0\n options: ALL\n}\n";
    put("etc/storage.conf", storage)?;
    let buffer = format!("cycbuff:ONE:{path}/buffer:{ROOM}\nmetacycbuff:ALL:ONE\n");
    put("etc/cycbuff.conf", &buffer)?;
    fs::File::create(root.join("buffer"))?.set_len(ROOM << 10)?;
    put("etc/expire.ctl", "/remember/:11\n*:A:0:never:never\n")?;
    put("etc/control.ctl", "all:*:*:drop\n")?;
    put("etc/moderators", "*:%s@example.test\n")?;
    put("etc/readers.conf", &readers_conf(path, options))?;
    if let Some((user, password)) = &options.account {
        put("etc/check", &check(user, password))?;
    }
    if let Some(certificate) = &options.tls {
        put("etc/cert.pem", &certificate.certificate)?;
        put("etc/key.pem", &certificate.key)?;
        // It refuses a key that others may read.
        fs::set_permissions(root.join("etc/key.pem"), Permissions::from_mode(0o600))?;
    }
    put("db/active", &active(options))?;
    let lines = options.newsgroups.iter();
    let lines = lines.map(|one| format!("{}\t{}\n", one.name, one.description));
    put("db/newsgroups", &lines.collect::<String>())?;
    put("db/active.times", "")?;
    put("db/history", "")?;
    if account.foreign {
        give(root, account.ids)?;
    }
    Ok(())
}

fn inn_conf(path: &str, name: &str, options: &Options, account: &Account) -> String {
    let user = &account.name;
    let mut conf = format!(
        "domain: example.test
pathhost: {name}
mta: \"/bin/true %s\"
hismethod: hisv6
ovmethod: tradindexed
enableoverview: true
pathnews: {path}
pathbin: {PROGRAMS}
pathcontrol: {PROGRAMS}/control
pathetc: {path}/etc
pathfilter: {path}/etc
pathdb: {path}/db
pathrun: {path}/run
pathlog: {path}/log
pathtmp: {path}/tmp
pathspool: {path}
patharticles: {path}/articles
pathoverview: {path}/overview
pathoutgoing: {path}/outgoing
pathincoming: {path}/incoming
patharchive: {path}/archive
bindaddress: 127.0.0.1
runasuser: {user}
runasgroup: {user}
artcutoff: 0
icdsynccount: 1
maxartsize: 0
maxconnections: 1000
docancels: auth
pgpverify: false
"
    );
    // Else it turns readers away when the machine is busy, and one that runs tests is.
    conf += "nnrpdloadlimit: 0\n";
    if options.tls.is_some() {
        conf += &format!("tlscapath: {path}/etc\ntlscertfile: {path}/etc/cert.pem\n");
        conf += &format!("tlskeyfile: {path}/etc/key.pem\n");
    }
    conf
}

fn readers_conf(path: &str, options: &Options) -> String {
    let access = if options.posting { "RPA" } else { "R" };
    let identity = match &options.account {
        // No default identity: whoever has not signed in may do nothing.
        Some(_) => format!("auth: \"/bin/sh {path}/etc/check\""),
        None => "default: \"reader\"".to_owned(),
    };
    format!(
        "auth everybody {{\n hosts: \"*\"\n {identity}\n}}\n\
         access everybody {{\n users: \"*\"\n newsgroups: \"*\"\n access: \"{access}\"\n}}\n"
    )
}

/// The program that nnrpd asks about a name and a password.
fn check(user: &str, password: &str) -> String {
    let quote = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    format!(
        "cr=$(printf '\\r')
while read -r line; do
 line=${{line%\"$cr\"}}
 case $line in
  'ClientAuthname: '*) user=${{line#*: }} ;;
  'ClientPassword: '*) password=${{line#*: }} ;;
 esac
done
test \"$user\" = {user} && test \"$password\" = {password} || exit 1
printf 'User:%s\\r\\n' \"$user\"
",
        user = quote(user),
        password = quote(password)
    )
}

fn active(options: &Options) -> String {
    let own = ["control", "control.cancel", "junk"];
    let own = own.map(|name| format!("{name} 0000000000 0000000001 n\n"));
    let others = options.newsgroups.iter().map(|one| {
        let (name, flag) = (&one.name, one.flag);
        let high = one.first.saturating_sub(1);
        format!("{name} {high:010} {:010} {flag}\n", one.first)
    });
    own.into_iter().chain(others).collect()
}

fn give(path: &Path, (user, group): (u32, u32)) -> io::Result<()> {
    chown(path, Some(user), Some(group))?;
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), (user, group))?;
        }
    }
    Ok(())
}
