#!/bin/bash
# Tries the Debian package. `cargo xtask dist-test` runs this inside an empty Debian with its own systemd and its own
# network; /trial has the packages and a data directory of an older Weir.
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

new=$(ls weir_*.deb | grep -v '~')
old=$(ls weir_*.deb | grep '~')

step "install"
dpkg --install "$new"
is "$(id -gn weir)" weir "the group of the user weir"
is "$(stat -c '%U:%G %a' /var/lib/weir)" "weir:weir 700" "/var/lib/weir"
is "$(stat -c '%U:%G %a' /etc/weir/weir.yaml)" "root:weir 640" "/etc/weir/weir.yaml"
is "$(systemctl is-enabled weir || true)" disabled "the unit after the installation"
is "$(systemctl is-active weir || true)" inactive "the service after the installation"
for command in $(weir --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' | grep -v help); do
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
has "$(systemd-analyze security weir)" "Overall exposure level"
systemd-analyze security weir | tail -n 1

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

step "upgrade a running one"
dpkg --install "$old"
echo "# by the operator" >> /etc/weir/weir.yaml
start start
before=$(shown MainPID)
dpkg --install "$new" < /dev/null
has "$(get 7070 /readyz)" "HTTP/1.1 200"
[ "$(shown MainPID)" != "$before" ] || fail "the old one is still running"
has "$(cat /etc/weir/weir.yaml)" "# by the operator"

step "start over an older data directory"
systemctl stop weir
rm -rf /var/lib/weir/*
tar --extract --directory /var/lib/weir --file older-data.tar.gz --strip-components=1
chown --recursive weir:weir /var/lib/weir
start start
key=$(cat /var/lib/weir/key-of-the-test)
has "$(get 7070 /api/v1/status "X-Api-Key: $key")" "HTTP/1.1 200"
history=$(get 7070 /api/v1/history "X-Api-Key: $key")
has "$history" "rivers of the north"
# Its peers are as old as the file, so they are forgotten; but it must be readable.
if journalctl --no-pager --unit weir --since "-1min" | grep -E ' (WARN|ERROR) '; then
    fail "the log has a warning"
fi

step "all passed"
