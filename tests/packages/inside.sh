#!/bin/bash
# Tries the packages. `cargo xtask dist-test` runs this inside an empty Debian with its own systemd and its own network;
# /trial has the packages and a data directory of an older Weir.
set -euo pipefail
cd /trial
exec > log 2>&1

step() { echo; echo "== $*"; }
fail() {
    echo "FAILED: $*"
    journalctl --no-pager --unit weir --lines 60 || true
    exit 1
}
trap 'fail "line $LINENO"' ERR

# get PORT PATH [HEADER]
get() {
    exec 3<>"/dev/tcp/127.0.0.1/$1"
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n' "$2" "${3:+$3$'\r\n'}" >&3
    # A shell's variable cannot hold the zeros of an announce's answer.
    tr -d '\0' <&3
    exec 3>&-
}
has() { case "$1" in *"$2"*) ;; *) fail "no \"$2\" in: $1" ;; esac; }
is() { [ "$1" = "$2" ] || fail "$3 is \"$1\" and not \"$2\""; }
shown() { systemctl show --property "$1" --value weir; }
start() {
    systemctl "$@" weir || fail "systemctl $*"
    has "$(get 7070 /readyz)" "HTTP/1.1 200"
}
# block FILE HEADING: the first commands below a heading of the documentation
block() { sed -n "/^#* $2\$/,/^\`\`\`\$/p" "$1" | sed '1,/^```sh$/d; /^```$/d'; }

new=$(ls weir_*.deb | grep -v '~')
old=$(ls weir_*.deb | grep '~')
docs=/usr/share/doc/weir/docs

step "without a package, as the documentation says"
mkdir archive
tar --extract --directory archive --strip-components=1 --file weir-*-linux-gnu.tar.gz
block archive/docs/packages.md "Without a package" > commands
has "$(cat commands)" "weir sign-in"
bash -ex commands > told || fail "the commands of docs/packages.md"
has "$(cat told)" "/sign-in?link="
is "$(stat -c %U "/proc/$(shown MainPID)")" weir "who it runs as"
is "$(stat -c '%U:%G %a' /etc/weir/weir.yaml)" "root:weir 640" "/etc/weir/weir.yaml"
weir status || fail "weir status"
weir backup /trial/backup-of-archive > /dev/null || fail "weir backup"
systemctl disable --now weir
rm -r /usr/local/bin/weir /etc/systemd/system/weir.service /etc/sysusers.d/weir.conf /etc/tmpfiles.d/weir.conf
rm -r /etc/weir /var/lib/weir
userdel weir
systemctl daemon-reload
# This shell would look for it in the old place.
hash -r

step "install"
dpkg --install "$new"
is "$(id -gn weir)" weir "the group of the user weir"
is "$(stat -c '%U:%G %a' /var/lib/weir)" "weir:weir 700" "/var/lib/weir"
is "$(stat -c '%U:%G %a' /etc/weir/weir.yaml)" "root:weir 640" "/etc/weir/weir.yaml"
is "$(systemctl is-enabled weir || true)" disabled "the unit after the installation"
is "$(systemctl is-active weir || true)" inactive "the service after the installation"
names=$(weir --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' | grep -v help)
has "$names" sign-in
for command in $names; do
    [ -s "/usr/share/man/man1/weir-$command.1.gz" ] || fail "weir $command has no manual page"
done
for file in bash-completion/completions/weir zsh/vendor-completions/_weir fish/vendor_completions.d/weir.fish \
    doc/weir/copyright doc/weir/THIRD-PARTY.txt.gz; do
    [ -s "/usr/share/$file" ] || fail "there is no /usr/share/$file"
done
weir check -c /etc/weir/weir.yaml > /dev/null || fail "weir check"

step "start"
start enable --now
is "$(shown Result)" success "the result"
pid=$(shown MainPID)
is "$(stat -c %U "/proc/$pid")" weir "who it runs as"
process=$(cat "/proc/$pid/status")
for line in $'Seccomp:\t2' $'NoNewPrivs:\t1' $'CapBnd:\t0000000000000000'; do has "$process" "$line"; done
echo "start to READY=1: $((($(shown ActiveEnterTimestampMonotonic) - $(shown InactiveExitTimestampMonotonic)) / 1000)) ms"
stated=$(sed -n 's/.*rates the unit \([0-9]*\.[0-9]\) .*/\1/p' "$docs/packages.md")
rated=$(systemd-analyze security weir | sed -n 's/.*Overall exposure level for weir.service: \([0-9]*\.[0-9]\) .*/\1/p')
echo "systemd-analyze security: $rated, and docs/packages.md says $stated"
[ "${rated/./}" -le "${stated/./}" ] || fail "the unit is rated worse than docs/packages.md says"

step "use, within the limits of the unit"
weir status || fail "weir status"
has "$(weir sign-in)" "/sign-in?link="
hash=$(printf '%%42%.0s' {1..20})
announce="/announce?info_hash=$hash&peer_id=$hash&port=6881&left=0&uploaded=0&downloaded=0&compact=1"
has "$(get 6969 "$announce")" 8:interval
weir backup /trial/backup > /dev/null || fail "weir backup"
systemctl reload weir || fail "a reload"
for name in state.db news.db; do
    is "$(stat -c %U "/var/lib/weir/$name")" weir "the owner of $name"
done
if journalctl --no-pager --unit weir | grep -iE ' (WARN|ERROR) |not permitted'; then
    fail "the log has a warning"
fi
is "$(shown NRestarts)" 0 "the number of restarts"

step "stop"
systemctl stop weir
is "$(shown Result)" success "the result"

step "restore the backup, as the documentation says"
block "$docs/operations.md" Restore | sed 's|BACKUP|/trial/backup|' > commands
has "$(cat commands)" "cp -a /trial/backup /var/lib/weir"
bash -ex commands || fail "the commands of docs/operations.md"
has "$(get 7070 /readyz)" "HTTP/1.1 200"
is "$(stat -c '%U:%G %a' /var/lib/weir)" "weir:weir 700" "/var/lib/weir"
has "$(get 6969 "/scrape?info_hash=$hash")" 8:completei1e
rm -r /var/lib/weir.old
systemctl stop weir

step "remove a running one, and install it again"
start start
dpkg --remove weir
is "$(systemctl is-active weir || true)" inactive "the service after the removal"
[ ! -e /usr/bin/weir ] || fail "/usr/bin/weir is still there"
for file in /var/lib/weir/state.db /etc/weir/weir.yaml; do
    [ -e "$file" ] || fail "$file was removed"
done
dpkg --install "$new"
start start

step "purge"
dpkg --purge weir
for file in /var/lib/weir /etc/weir /usr/bin/weir; do
    [ ! -e "$file" ] || fail "$file is still there"
done

step "upgrade a running one over the state of an older Weir"
dpkg --install "$old"
sed -i 's|^search:$|&\n  indexers: [{ name: one, url: "http://127.0.0.1:9/api" }] # by the operator|' /etc/weir/weir.yaml
tar --extract --directory /var/lib/weir --file older-data.tar.gz --strip-components=1
chown --recursive weir:weir /var/lib/weir
untouched=$(sha256sum /var/lib/weir/state.db)
# Both packages have the same program, which would migrate this state at once. So until the upgrade the running one keeps
# its state elsewhere.
elsewhere=/run/systemd/system/weir.service.d
mkdir "$elsewhere"
cat > "$elsewhere/elsewhere.conf" << 'END'
[Service]
StateDirectory=weir-elsewhere
ExecStart=
ExecStart=weir serve -c /etc/weir/weir.yaml --data /var/lib/weir-elsewhere
END
systemctl daemon-reload
start start
before=$(shown MainPID)
is "$(sha256sum /var/lib/weir/state.db)" "$untouched" "the older state before the upgrade"
rm -r "$elsewhere"
dpkg --install "$new" < /dev/null
has "$(get 7070 /readyz)" "HTTP/1.1 200"
[ "$(shown MainPID)" != "$before" ] || fail "the old one is still running"
has "$(cat /etc/weir/weir.yaml)" "# by the operator"
has "$(tr '\0' ' ' < "/proc/$(shown MainPID)/cmdline")" "--data /var/lib/weir "

step "everything is still there"
key="X-Api-Key: $(cat /var/lib/weir/key-of-the-test)"
has "$(get 7070 /api/v1/status "$key")" "HTTP/1.1 200"
history=$(get 7070 /api/v1/history "$key")
for part in "rivers of the north" "connection refused" 2026-11-17T20:58:09Z; do has "$history" "$part"; done
# The end of its last cooldown.
has "$(get 7070 /api/v1/upstreams/search/one "$key")" 2026-11-17T20:59:09.94Z
# Its peers are as old as the file, so they are forgotten; but it must have been read.
journalctl --sync
log=$(journalctl --no-pager _SYSTEMD_INVOCATION_ID="$(shown InvocationID)")
has "$log" "swarms=1 peers=3"
if echo "$log" | grep -E ' (WARN|ERROR) '; then
    fail "the log has a warning"
fi
has "$(weir sign-in)" "/sign-in?link="
systemctl stop weir
[ "$(sha256sum /var/lib/weir/state.db)" != "$untouched" ] || fail "the older state was not migrated"

step "all passed"
