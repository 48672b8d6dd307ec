//! A disk that is full for one Weir alone: its files may not grow, and a write is refused as there. No disk has to be filled.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Weir;

impl Weir {
    /// Starts it in `dir`, and waits for the address of its first URL.
    pub(super) fn start_on_full_disk(dir: &Path) -> (Self, SocketAddr) {
        let weir = Self::command(dir, &[]);
        // The signal that comes with a refused write would end it.
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"])
            .arg(weir.get_program())
            .args(weir.get_args())
            .current_dir(dir)
            .env_clear()
            .envs(
                weir.get_envs()
                    .filter_map(|(key, value)| Some((key, value?))),
            );
        let mut weir = Self::run(&mut shell).unwrap();
        let address = weir.address();
        (weir, address)
    }

    /// From now on no file may grow beyond so many bytes; `unlimited` makes room again.
    pub(super) fn limit_files(&self, bytes: &str) {
        let pid = self.child.id().to_string();
        let limit = format!("--fsize={bytes}:unlimited");
        let mut prlimit = Command::new("prlimit");
        let told = prlimit.args(["--pid", &pid, &limit]).stdin(Stdio::null());
        assert!(told.status().unwrap().success());
    }
}
